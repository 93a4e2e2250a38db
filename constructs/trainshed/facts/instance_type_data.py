"""The tables behind :mod:`trainshed.facts.instance_types`: one line a type, one column a fact.

Source of every line but one: EC2 ``DescribeInstanceTypes``, as recorded in moto 5.2.5 (read
2026-11-29), against which the tests compare each number. Columns:

- ``vcpus``, ``memory`` (MiB), ``thr`` (threads a core): the defaults of the type.
- ``sock`` (sockets): EC2 does not say. Measured with ``slurmd -C`` on p5.48xlarge
  (aws/aws-parallelcluster#5797) and c5.9xlarge (geoschem/integrated_methane_inversion#306);
  p4d and p4de from AWS's awsome-distributed-ai, ``tips-and-tricks.md``. Elsewhere the fewest
  processors of that generation that hold the cores: Skylake and Cascade Lake 24 cores, Ice Lake
  32, Sapphire and Emerald Rapids 48, EPYC 7R32 and 7R13 48, EPYC 9R14 96, Graviton3 64, Grace 72.
- ``accelerators``: ``8xh200:144384`` is 8 GPUs of 144,384 MiB each; ``16xneuron:2`` is 16 Neuron
  devices of 2 cores each.
- ``cards``, ``efa``, ``ports``: network cards, those that can carry an EFA (one each), and network
  interfaces a card.
- ``nvme``: instance store disks, each in GB. What EC2 calls 3,800 GB is advertised as 3.84 TB.
- ``flags``: ``nvl`` NVLink between the GPUs, ``cb`` sold in Capacity Blocks, ``us`` part of an
  UltraServer.

``p6e-gb200.36xlarge`` is in no recorded answer. Its line is from the EC2 documentation, read
2026-11-29: "Specifications for Amazon EC2 accelerated computing instances" (144 vCPUs, 960 GiB,
4 B200 of 185 GiB, 17 cards with 39 interfaces in all, 3 x 7500 GB) and "EFA configuration for
P6e-GB200 instances" (card 0 is ENA only; cards 1-16 take EFA, the odd ones nothing else). How the
39 interfaces spread over the cards is not written down: ``ports`` is what every card has. AWS
advises one EFA-only interface on each of cards 1, 5, 9 and 13, which already gives the 1,600 Gbps
that the four GPUs can send.
"""

ACCELERATED = """\
type               arch   vcpus  memory sock thr accelerators  cards efa  ports nvme   flags
p4d.24xlarge       x86_64    96 1179648    2   2 8xa100:40960      4 0-3     15 8x1000 nvl,cb
p4de.24xlarge      x86_64    96 1179648    2   2 8xa100:81920      4 0-3     15 8x1000 nvl,cb
p5.4xlarge         x86_64    16  262144    1   2 1xh100:81920      1 0        4 1x3800 cb
p5.48xlarge        x86_64   192 2097152    2   2 8xh100:81920     32 0-31     2 8x3800 nvl,cb
p5e.48xlarge       x86_64   192 2097152    2   2 8xh200:144384    32 0-31     2 8x3800 nvl,cb
p5en.48xlarge      x86_64   192 2097152    2   2 8xh200:144384    16 0-15     4 8x3800 nvl,cb
p6-b200.48xlarge   x86_64   192 2097152    2   2 8xb200:183359     8 0-7      4 8x3800 nvl,cb
p6-b300.48xlarge   x86_64   192 4194304    2   2 8xb300:275040    17 1-16     4 8x3800 nvl,cb
p6e-gb200.36xlarge arm64    144  983040    2   1 4xb200:189440    17 1-16     1 3x7500 nvl,cb,us
g6e.xlarge         x86_64     4   32768    1   2 1xl40s:45776      1 -        4 1x250  -
g6e.2xlarge        x86_64     8   65536    1   2 1xl40s:45776      1 -        4 1x450  -
g6e.4xlarge        x86_64    16  131072    1   2 1xl40s:45776      1 -        8 1x600  -
g6e.8xlarge        x86_64    32  262144    1   2 1xl40s:45776      1 0        8 2x450  -
g6e.12xlarge       x86_64    48  393216    1   2 4xl40s:45776      1 0       10 2x1900 -
g6e.16xlarge       x86_64    64  524288    1   2 1xl40s:45776      1 0       15 2x950  -
g6e.24xlarge       x86_64    96  786432    1   2 4xl40s:45776      2 0-1     10 2x1900 -
g6e.48xlarge       x86_64   192 1572864    2   2 8xl40s:45776      4 0-3     10 4x1900 -
g6.xlarge          x86_64     4   16384    1   2 1xl4:22888        1 -        4 1x250  -
g6.2xlarge         x86_64     8   32768    1   2 1xl4:22888        1 -        4 1x450  -
g6.4xlarge         x86_64    16   65536    1   2 1xl4:22888        1 -        8 1x600  -
g6.8xlarge         x86_64    32  131072    1   2 1xl4:22888        1 0        8 2x450  -
g6.12xlarge        x86_64    48  196608    1   2 4xl4:22888        1 0        8 4x940  -
g6.16xlarge        x86_64    64  262144    1   2 1xl4:22888        1 0       15 2x940  -
g6.24xlarge        x86_64    96  393216    1   2 4xl4:22888        1 0       15 4x940  -
g6.48xlarge        x86_64   192  786432    2   2 8xl4:22888        1 0       15 8x940  -
g5.xlarge          x86_64     4   16384    1   2 1xa10g:22888      1 -        4 1x250  -
g5.2xlarge         x86_64     8   32768    1   2 1xa10g:22888      1 -        4 1x450  -
g5.4xlarge         x86_64    16   65536    1   2 1xa10g:22888      1 -        8 1x600  -
g5.8xlarge         x86_64    32  131072    1   2 1xa10g:22888      1 0        8 1x900  -
g5.12xlarge        x86_64    48  196608    1   2 4xa10g:22888      1 0       15 1x3800 -
g5.16xlarge        x86_64    64  262144    1   2 1xa10g:22888      1 0        8 1x1900 -
g5.24xlarge        x86_64    96  393216    1   2 4xa10g:22888      1 0       15 1x3800 -
g5.48xlarge        x86_64   192  786432    2   2 8xa10g:22888      1 0        7 2x3800 -
g4dn.xlarge        x86_64     4   16384    1   2 1xt4:16384        1 -        3 1x125  -
g4dn.2xlarge       x86_64     8   32768    1   2 1xt4:16384        1 -        3 1x225  -
g4dn.4xlarge       x86_64    16   65536    1   2 1xt4:16384        1 -        3 1x225  -
g4dn.8xlarge       x86_64    32  131072    1   2 1xt4:16384        1 0        4 1x900  -
g4dn.12xlarge      x86_64    48  196608    1   2 4xt4:16384        1 0        8 1x900  -
g4dn.16xlarge      x86_64    64  262144    2   2 1xt4:16384        1 0        4 1x900  -
g4dn.metal         x86_64    96  393216    2   2 8xt4:16384        1 0       15 2x900  -
trn1.2xlarge       x86_64     8   32768    1   2 1xneuron:2        1 -        4 1x474  -
trn1.32xlarge      x86_64   128  524288    2   2 16xneuron:2       8 0-7      5 4x1900 cb
trn1n.32xlarge     x86_64   128  524288    2   2 16xneuron:2      16 0-15     5 4x1900 -
trn2.3xlarge       x86_64    12  131072    1   2 1xneuron:8        1 0        2 1x470  cb
trn2.48xlarge      x86_64   192 2097152    2   2 16xneuron:8      16 0-15     2 4x1900 cb
"""

GENERAL = """\
type         arch   vcpus  memory sock thr accelerators cards efa ports nvme flags
m7i.large    x86_64     2    8192    1   2 -                1 -       3 -    -
m7i.xlarge   x86_64     4   16384    1   2 -                1 -       4 -    -
m7i.2xlarge  x86_64     8   32768    1   2 -                1 -       4 -    -
m7i.4xlarge  x86_64    16   65536    1   2 -                1 -       8 -    -
m7i.8xlarge  x86_64    32  131072    1   2 -                1 -       8 -    -
m7i.12xlarge x86_64    48  196608    1   2 -                1 -       8 -    -
m7i.16xlarge x86_64    64  262144    1   2 -                1 -      15 -    -
m7i.24xlarge x86_64    96  393216    1   2 -                1 -      15 -    -
m7i.48xlarge x86_64   192  786432    2   2 -                1 0      15 -    -
m7a.medium   x86_64     1    4096    1   1 -                1 -       2 -    -
m7a.large    x86_64     2    8192    1   1 -                1 -       3 -    -
m7a.xlarge   x86_64     4   16384    1   1 -                1 -       4 -    -
m7a.2xlarge  x86_64     8   32768    1   1 -                1 -       4 -    -
m7a.4xlarge  x86_64    16   65536    1   1 -                1 -       8 -    -
m7a.8xlarge  x86_64    32  131072    1   1 -                1 -       8 -    -
m7a.12xlarge x86_64    48  196608    1   1 -                1 -       8 -    -
m7a.16xlarge x86_64    64  262144    1   1 -                1 -      15 -    -
m7a.24xlarge x86_64    96  393216    1   1 -                1 -      15 -    -
m7a.32xlarge x86_64   128  524288    2   1 -                1 -      15 -    -
m7a.48xlarge x86_64   192  786432    2   1 -                1 0      15 -    -
m7g.medium   arm64      1    4096    1   1 -                1 -       2 -    -
m7g.large    arm64      2    8192    1   1 -                1 -       3 -    -
m7g.xlarge   arm64      4   16384    1   1 -                1 -       4 -    -
m7g.2xlarge  arm64      8   32768    1   1 -                1 -       4 -    -
m7g.4xlarge  arm64     16   65536    1   1 -                1 -       8 -    -
m7g.8xlarge  arm64     32  131072    1   1 -                1 -       8 -    -
m7g.12xlarge arm64     48  196608    1   1 -                1 -       8 -    -
m7g.16xlarge arm64     64  262144    1   1 -                1 0      15 -    -
m6i.large    x86_64     2    8192    1   2 -                1 -       3 -    -
m6i.xlarge   x86_64     4   16384    1   2 -                1 -       4 -    -
m6i.2xlarge  x86_64     8   32768    1   2 -                1 -       4 -    -
m6i.4xlarge  x86_64    16   65536    1   2 -                1 -       8 -    -
m6i.8xlarge  x86_64    32  131072    1   2 -                1 -       8 -    -
m6i.12xlarge x86_64    48  196608    1   2 -                1 -       8 -    -
m6i.16xlarge x86_64    64  262144    1   2 -                1 -      15 -    -
m6i.24xlarge x86_64    96  393216    2   2 -                1 -      15 -    -
m6i.32xlarge x86_64   128  524288    2   2 -                1 0      15 -    -
m5.large     x86_64     2    8192    1   2 -                1 -       3 -    -
m5.xlarge    x86_64     4   16384    1   2 -                1 -       4 -    -
m5.2xlarge   x86_64     8   32768    1   2 -                1 -       4 -    -
m5.4xlarge   x86_64    16   65536    1   2 -                1 -       8 -    -
m5.8xlarge   x86_64    32  131072    1   2 -                1 -       8 -    -
m5.12xlarge  x86_64    48  196608    1   2 -                1 -       8 -    -
m5.16xlarge  x86_64    64  262144    2   2 -                1 -      15 -    -
m5.24xlarge  x86_64    96  393216    2   2 -                1 -      15 -    -
c7i.large    x86_64     2    4096    1   2 -                1 -       3 -    -
c7i.xlarge   x86_64     4    8192    1   2 -                1 -       4 -    -
c7i.2xlarge  x86_64     8   16384    1   2 -                1 -       4 -    -
c7i.4xlarge  x86_64    16   32768    1   2 -                1 -       8 -    -
c7i.8xlarge  x86_64    32   65536    1   2 -                1 -       8 -    -
c7i.12xlarge x86_64    48   98304    1   2 -                1 -       8 -    -
c7i.16xlarge x86_64    64  131072    1   2 -                1 -      15 -    -
c7i.24xlarge x86_64    96  196608    1   2 -                1 -      15 -    -
c7i.48xlarge x86_64   192  393216    2   2 -                1 0      15 -    -
c6i.large    x86_64     2    4096    1   2 -                1 -       3 -    -
c6i.xlarge   x86_64     4    8192    1   2 -                1 -       4 -    -
c6i.2xlarge  x86_64     8   16384    1   2 -                1 -       4 -    -
c6i.4xlarge  x86_64    16   32768    1   2 -                1 -       8 -    -
c6i.8xlarge  x86_64    32   65536    1   2 -                1 -       8 -    -
c6i.12xlarge x86_64    48   98304    1   2 -                1 -       8 -    -
c6i.16xlarge x86_64    64  131072    1   2 -                1 -      15 -    -
c6i.24xlarge x86_64    96  196608    2   2 -                1 -      15 -    -
c6i.32xlarge x86_64   128  262144    2   2 -                1 0      15 -    -
c5.large     x86_64     2    4096    1   2 -                1 -       3 -    -
c5.xlarge    x86_64     4    8192    1   2 -                1 -       4 -    -
c5.2xlarge   x86_64     8   16384    1   2 -                1 -       4 -    -
c5.4xlarge   x86_64    16   32768    1   2 -                1 -       8 -    -
c5.9xlarge   x86_64    36   73728    1   2 -                1 -       8 -    -
c5.12xlarge  x86_64    48   98304    1   2 -                1 -       8 -    -
c5.18xlarge  x86_64    72  147456    2   2 -                1 -      15 -    -
c5.24xlarge  x86_64    96  196608    2   2 -                1 -      15 -    -
r7i.large    x86_64     2   16384    1   2 -                1 -       3 -    -
r7i.xlarge   x86_64     4   32768    1   2 -                1 -       4 -    -
r7i.2xlarge  x86_64     8   65536    1   2 -                1 -       4 -    -
r7i.4xlarge  x86_64    16  131072    1   2 -                1 -       8 -    -
r7i.8xlarge  x86_64    32  262144    1   2 -                1 -       8 -    -
r7i.12xlarge x86_64    48  393216    1   2 -                1 -       8 -    -
r7i.16xlarge x86_64    64  524288    1   2 -                1 -      15 -    -
r7i.24xlarge x86_64    96  786432    1   2 -                1 -      15 -    -
r7i.48xlarge x86_64   192 1572864    2   2 -                1 0      15 -    -
r6i.large    x86_64     2   16384    1   2 -                1 -       3 -    -
r6i.xlarge   x86_64     4   32768    1   2 -                1 -       4 -    -
r6i.2xlarge  x86_64     8   65536    1   2 -                1 -       4 -    -
r6i.4xlarge  x86_64    16  131072    1   2 -                1 -       8 -    -
r6i.8xlarge  x86_64    32  262144    1   2 -                1 -       8 -    -
r6i.12xlarge x86_64    48  393216    1   2 -                1 -       8 -    -
r6i.16xlarge x86_64    64  524288    1   2 -                1 -      15 -    -
r6i.24xlarge x86_64    96  786432    2   2 -                1 -      15 -    -
r6i.32xlarge x86_64   128 1048576    2   2 -                1 0      15 -    -
t3.nano      x86_64     2     512    1   2 -                1 -       2 -    -
t3.micro     x86_64     2    1024    1   2 -                1 -       2 -    -
t3.small     x86_64     2    2048    1   2 -                1 -       3 -    -
t3.medium    x86_64     2    4096    1   2 -                1 -       3 -    -
t3.large     x86_64     2    8192    1   2 -                1 -       3 -    -
t3.xlarge    x86_64     4   16384    1   2 -                1 -       4 -    -
t3.2xlarge   x86_64     8   32768    1   2 -                1 -       4 -    -
"""
