#version 450
// One workgroup an entry: up to 4096 bytes, 16 bytes a lane, from a place in `source` to one in
// `target`. Places and sizes are units of 16 bytes.
layout(local_size_x = 256) in;
layout(std430, set = 0, binding = 0) readonly buffer Source { uvec4 source[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Target { uvec4 target[]; };
layout(std430, set = 0, binding = 2) readonly buffer Table { uvec4 table[]; };
layout(push_constant) uniform Push { uint first; };
void main()
{
    uvec4 entry = table[first + gl_WorkGroupID.x]; // target, source, units
    if (gl_LocalInvocationID.x < entry.z) {
        target[entry.x + gl_LocalInvocationID.x] = source[entry.y + gl_LocalInvocationID.x];
    }
}
