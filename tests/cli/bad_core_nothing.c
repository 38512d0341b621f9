/* A shared object that is no plug-in. */
extern int bad_core_nothing;
int bad_core_nothing = 1;
