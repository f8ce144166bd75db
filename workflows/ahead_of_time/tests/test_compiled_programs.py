"""What is read from the text of compiled programs: collectives, and bytes of main memory."""

from ahead_of_time.hlo import collectives_of, traffic

HLO = """
ENTRY %main {
  %p = (f32[128,10]{1,0:T(8,128)}, f32[]) all-reduce(%a, %b), replica_groups=mesh['x'=2,'y'=4] {'y'}
  %x = bf16[64]{0} all-gather(%c), replica_groups=[2,4]<=[8], dimensions={0}
  %y = (f32[8]{0}, f32[64]{0}) all-gather-start(%d), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}
  %z = f32[64]{0} all-gather-done(%y)
  ROOT %r = pred[3]{0} all-reduce(%e), replica_groups={}, to_apply=%or
  %fusion.1 = f32[2]{0} fusion(%p), metadata={op_name="all-reduce("}
}
"""


def test_collectives_in_every_form_that_hlo_has():
    collectives = collectives_of(HLO, devices=8)
    assert [(each.kind, each.bytes, each.group) for each in collectives] == [
        ("all-reduce", 128 * 10 * 4 + 4, 4),
        ("all-gather", 128, 4),
        ("all-gather", 256, 8),
        ("all-reduce", 3, 8),
    ]


TRAFFIC = """
%fused (p: f32[4]) -> f32[4] {
  ROOT %inside = f32[1024]{0} add(%p, %p)
}

ENTRY %main (a: f32[128,10]) -> f32[8] {
  %a = f32[128,10]{1,0:T(8,128)} parameter(0)
  %near = f32[128,10]{1,0:T(8,128)S(1)} fusion(%a), kind=kLoop, calls=%fused
  %pair = (f32[256]{0:T(128)}, f32[64]{0:T(64)S(1)}) fusion(%near, %a), kind=kLoop, calls=%fused
  %far = f32[256]{0:T(128)} get-tuple-element(%pair), index=0
  %copy-start = (f32[256]{0:T(128)S(1)}, f32[256]{0:T(128)}, u32[]{:S(2)}) copy-start(%far)
  %copy-done = f32[256]{0:T(128)S(1)} copy-done(%copy-start)
  ROOT %out = f32[8]{0:T(8)} fusion(%copy-done), kind=kLoop, calls=%fused
}
"""


def test_traffic_is_that_of_main_memory_in_whole_tiles():
    whole = 4 * 128 * 128  # f32[128,10] in tiles of 8 x 128
    expected = whole + (whole + 4 * 256) + 4 * 256 + 4 * 8
    assert traffic(TRAFFIC) == expected


LIBRARY = """
%inside (q: f32[100]) -> f32[100] {
  %q = f32[100]{0} parameter(0)
  ROOT %twice = f32[100]{0} fusion(%q), kind=kLoop, calls=%fused
}

ENTRY %main (a: f32[100], w: f32[10]) -> f32[100] {
  %a = f32[100]{0} parameter(0)
  %w = f32[10]{0} parameter(1)
  %conv = (f32[50]{0}, u8[9000]{0}) custom-call(%a, %w), custom_call_target="__cudnn$convForward"
  %out = f32[50]{0} get-tuple-element(%conv), index=0
  %all = f32[100]{0} fusion(%out), kind=kLoop, calls=%fused
  ROOT %end = f32[100]{0} call(%all), to_apply=%inside
}
"""


def test_traffic_of_a_gpu_has_the_calls_of_libraries_and_what_is_called_inside():
    """Without the bytes that the library works with; 100 + 10 + 50, 50 + 100, 100 + 100 floats."""
    assert traffic(LIBRARY) == 4 * (160 + 150 + 200)


def test_a_cache_may_keep_so_much_of_each_array():
    """Of 400, 40 and 200 bytes a cache of 100 leaves 300, 0 and 100."""
    assert traffic(LIBRARY, cache=100) == 300 + 0 + 100 + (100 + 300) + (300 + 300)
    assert traffic(LIBRARY, cache=400) == 0
