#version 450
// A word, `count` times from the place `first` on; places and counts are words.
layout(local_size_x = 256) in;
layout(std430, set = 0, binding = 0) writeonly buffer Target { uint target[]; };
layout(push_constant) uniform Push { uint first, count, word; };
void main()
{
    uint lanes = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += lanes) {
        target[first + i] = word;
    }
}
