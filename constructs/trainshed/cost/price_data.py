"""The tables behind :mod:`trainshed.cost.prices`: one line a price, in US dollars.

Columns: what is bought; the unit; the lowest and the highest price (``-``: the price is known); the
source; the Regions. ``US`` stands for us-east-1, us-east-2 and us-west-2, which have had the same
price in every row that was compared. Prices are public list prices of Linux and shared tenancy,
without tax, free tier, Savings Plans, credits and contracts of your own.

What: ``ec2:TYPE`` an On-Demand instance; ``ec2:FAMILY.*`` one of its vCPUs, in families whose
sizes cost in proportion; ``capacity-block:TYPE`` an instance in a Capacity Block;
``fsx:DEPLOYMENT:STORAGE:THROUGHPUT`` a GB of Lustre storage, ``*`` where it has one throughput.
"""

from __future__ import annotations

from collections.abc import Mapping

REGION_GROUPS: Mapping[str, tuple[str, ...]] = {
    "US": ("us-east-1", "us-east-2", "us-west-2"),
    "SEOUL": ("ap-northeast-2",),
}
"""What the Regions column abbreviates."""

# Text and day of reading. Most are copies of AWS's Price List that others published, since the
# list itself has no address that stays.
SOURCES: Mapping[str, tuple[str, str]] = {
    "karpenter": (
        "AWS Price List of 2026-07-20, us-east-1, as kept by aws/karpenter-provider-aws "
        "(zz_generated.pricing_aws.go)",
        "2026-11-29",
    ),
    "skypilot": (
        "AWS Price List as kept by skypilot-org/skypilot-catalog (v8, aws/vms.csv, e385a0d)",
        "2026-11-29",
    ),
    "ratio": (
        "not found; g6 and g6e cost 1.23 times as much in Seoul as in us-east-1 (skypilot-catalog)",
        "2026-11-29",
    ),
    "blocks": (
        "EC2 Capacity Blocks pricing page: before and after AWS's change of January 2026, as "
        "reported by administraciondesistemas.com; AWS sets it anew every few months",
        "2026-11-29",
    ),
    "blocks-2024": (
        "EC2 Capacity Blocks pricing page: highest, its copy of late 2024; lowest, about a quarter "
        "below it, since AWS has lowered it; AWS sets it anew every few months",
        "2026-11-29",
    ),
    "blocks-b300": (
        "purchases in 2026 that public projects report; AWS sets it anew every few months",
        "2026-11-29",
    ),
    "fsx": ("FSx for Lustre pricing page, us-east-1, as several public projects quote it in 2026",
            "2026-11-29"),
    "fsx-seoul": (
        "not found for Seoul; from us-east-1's price to Tokyo's (classmethod.jp, 2022-09-03), or "
        "to 1.4 times us-east-1's, the largest factor between those two",
        "2026-11-29",
    ),
    "pricelist-us": ("AWS pricing pages of EC2, VPC, S3, CloudWatch, KMS and Secrets Manager, "
                     "us-east-1, as public projects quote them in 2026", "2026-11-29"),
    "pricelist-seoul": (
        "AWS Price List of September and October 2026, ap-northeast-2, as public projects quote it",
        "2026-11-29",
    ),
    "aurora": ("Aurora pricing page, us-east-1, Standard, as several public sites quote it in 2026",
               "2026-11-29"),
    "aurora-seoul": ("not found for Seoul; from us-east-1's price to 1.7 times it, which is more "
                     "than any factor between the two here", "2026-11-29"),
    "same": ("AWS pricing pages: the same in every commercial Region", "2026-11-29"),
}  # fmt: skip

INSTANCES = """\
what                  unit      low        high      source    regions
ec2:p4d.24xlarge      hour      21.957642  -         karpenter US
ec2:p4de.24xlarge     hour      27.447050  -         karpenter us-east-1 us-west-2
ec2:p5.4xlarge        hour      6.88       -         karpenter US
ec2:p5.48xlarge       hour      55.04      -         karpenter US
ec2:p5en.48xlarge     hour      63.296     -         karpenter US
ec2:p5en.48xlarge     hour      87.34848   -         skypilot  SEOUL
ec2:p6-b200.48xlarge  hour      113.9328   -         karpenter US
ec2:p6-b300.48xlarge  hour      142.416    -         karpenter US
ec2:g6e.xlarge        hour      1.861      -         karpenter US
ec2:g6e.2xlarge       hour      2.24208    -         karpenter US
ec2:g6e.4xlarge       hour      3.00424    -         karpenter US
ec2:g6e.8xlarge       hour      4.52856    -         karpenter US
ec2:g6e.12xlarge      hour      10.49264   -         karpenter US
ec2:g6e.16xlarge      hour      7.57719    -         karpenter US
ec2:g6e.24xlarge      hour      15.06559   -         karpenter US
ec2:g6e.48xlarge      hour      30.13118   -         karpenter US
ec2:g6e.2xlarge       hour      2.75652    -         skypilot  SEOUL
ec2:g6e.12xlarge      hour      12.90014   -         skypilot  SEOUL
ec2:g6e.16xlarge      hour      9.31575    -         skypilot  SEOUL
ec2:g6e.24xlarge      hour      18.52234   -         skypilot  SEOUL
ec2:g6e.48xlarge      hour      36         38        ratio     SEOUL
ec2:g6.xlarge         hour      0.8048     -         karpenter US
ec2:g6.2xlarge        hour      0.9776     -         karpenter US
ec2:g6.4xlarge        hour      1.3232     -         karpenter US
ec2:g6.8xlarge        hour      2.0144     -         karpenter US
ec2:g6.12xlarge       hour      4.6016     -         karpenter US
ec2:g6.16xlarge       hour      3.3968     -         karpenter US
ec2:g6.24xlarge       hour      6.6752     -         karpenter US
ec2:g6.48xlarge       hour      13.3504    -         karpenter US
ec2:g6.4xlarge        hour      1.62704    -         skypilot  SEOUL
ec2:g6.8xlarge        hour      2.47695    -         skypilot  SEOUL
ec2:g6.12xlarge       hour      5.5        5.8       ratio     SEOUL
ec2:g6.48xlarge       hour      16         16.8      ratio     SEOUL
ec2:g5.xlarge         hour      1.006      -         karpenter US
ec2:g5.2xlarge        hour      1.212      -         karpenter US
ec2:g5.4xlarge        hour      1.624      -         karpenter US
ec2:g5.8xlarge        hour      2.448      -         karpenter US
ec2:g5.12xlarge       hour      5.672      -         karpenter US
ec2:g5.16xlarge       hour      4.096      -         karpenter US
ec2:g5.24xlarge       hour      8.144      -         karpenter US
ec2:g5.48xlarge       hour      16.288     -         karpenter US
ec2:g5.12xlarge       hour      6.8        7.2       ratio     SEOUL
ec2:g5.48xlarge       hour      19.5       20.5      ratio     SEOUL
ec2:g4dn.xlarge       hour      0.526      -         karpenter US
ec2:g4dn.2xlarge      hour      0.752      -         karpenter US
ec2:g4dn.4xlarge      hour      1.204      -         karpenter US
ec2:g4dn.8xlarge      hour      2.176      -         karpenter US
ec2:g4dn.12xlarge     hour      3.912      -         karpenter US
ec2:g4dn.16xlarge     hour      4.352      -         karpenter US
ec2:g4dn.xlarge       hour      0.63       0.66      ratio     SEOUL
ec2:g4dn.8xlarge      hour      2.6        2.75      ratio     SEOUL
ec2:g4dn.12xlarge     hour      4.7        4.9       ratio     SEOUL
ec2:trn1.2xlarge      hour      1.34375    -         karpenter US
ec2:trn1.32xlarge     hour      21.5       -         karpenter US
ec2:trn1n.32xlarge    hour      24.78      -         karpenter US
ec2:m7i.*             vCPU-hour 0.0504     -         karpenter US
ec2:m7a.*             vCPU-hour 0.05796    -         karpenter US
ec2:m7g.*             vCPU-hour 0.0408     -         karpenter US
ec2:m6i.*             vCPU-hour 0.048      -         karpenter US
ec2:m5.*              vCPU-hour 0.048      -         karpenter US
ec2:c7i.*             vCPU-hour 0.044625   -         karpenter US
ec2:c6i.*             vCPU-hour 0.0425     -         karpenter US
ec2:c5.*              vCPU-hour 0.0425     -         karpenter US
ec2:r7i.*             vCPU-hour 0.06615    -         karpenter US
ec2:r6i.*             vCPU-hour 0.063      -         karpenter US
ec2:m7i.*             vCPU-hour 0.06195    -         skypilot  SEOUL
ec2:m7g.*             vCPU-hour 0.05015    -         pricelist-seoul SEOUL
ec2:m6i.*             vCPU-hour 0.059      -         pricelist-seoul SEOUL
ec2:r7i.*             vCPU-hour 0.0798     -         skypilot  SEOUL
ec2:t3.micro          hour      0.0104     -         karpenter US
ec2:t3.small          hour      0.0208     -         karpenter US
ec2:t3.medium         hour      0.0416     -         karpenter US
ec2:t3.large          hour      0.0832     -         karpenter US
ec2:t3.xlarge         hour      0.1664     -         karpenter US
ec2:t3.2xlarge        hour      0.3328     -         karpenter US
ec2:t3.micro          hour      0.013      -         pricelist-seoul SEOUL
ec2:t3.small          hour      0.026      -         pricelist-seoul SEOUL
ec2:t3.medium         hour      0.052      -         pricelist-seoul SEOUL
capacity-block:p4d.24xlarge     hour 11    14.75     blocks-2024 US
capacity-block:p5.48xlarge      hour 30    39.33     blocks-2024 US
capacity-block:p5e.48xlarge     hour 34.61 39.80     blocks    US SEOUL
capacity-block:p5en.48xlarge    hour 36.18 41.61     blocks    US SEOUL
capacity-block:p6-b300.48xlarge hour 93.60 112.32    blocks-b300 US
"""

SERVICES = """\
what                      unit          low    high   source          regions
fsx:persistent_2:ssd:125  GB-month      0.145  -      fsx             US
fsx:persistent_2:ssd:250  GB-month      0.210  -      fsx             US
fsx:persistent_2:ssd:500  GB-month      0.340  -      fsx             US
fsx:persistent_2:ssd:1000 GB-month      0.600  -      fsx             US
fsx:persistent_2:ssd:125  GB-month      0.145  0.186  fsx-seoul       SEOUL
fsx:persistent_2:ssd:250  GB-month      0.210  0.278  fsx-seoul       SEOUL
fsx:persistent_2:ssd:500  GB-month      0.340  0.464  fsx-seoul       SEOUL
fsx:persistent_2:ssd:1000 GB-month      0.600  0.837  fsx-seoul       SEOUL
fsx:persistent_1:ssd:50   GB-month      0.140  -      fsx             US
fsx:persistent_1:ssd:100  GB-month      0.190  -      fsx             US
fsx:persistent_1:ssd:200  GB-month      0.290  -      fsx             US
fsx:persistent_1:hdd:12   GB-month      0.025  -      fsx             US
fsx:persistent_1:hdd:40   GB-month      0.083  -      fsx             US
fsx:persistent_1:ssd:50   GB-month      0.140  0.196  fsx-seoul       SEOUL
fsx:persistent_1:ssd:100  GB-month      0.190  0.266  fsx-seoul       SEOUL
fsx:persistent_1:ssd:200  GB-month      0.290  0.406  fsx-seoul       SEOUL
fsx:persistent_1:hdd:12   GB-month      0.025  0.035  fsx-seoul       SEOUL
fsx:persistent_1:hdd:40   GB-month      0.083  0.117  fsx-seoul       SEOUL
fsx:scratch:ssd:*         GB-month      0.140  -      fsx             US
fsx:scratch:ssd:*         GB-month      0.140  0.196  fsx-seoul       SEOUL
fsx:metadata-iops         IOPS-month    0.055  -      fsx             US
fsx:metadata-iops         IOPS-month    0.055  0.077  fsx-seoul       SEOUL
s3:standard               GB-month      0.021  0.023  pricelist-us    US
s3:standard               GB-month      0.023  0.025  pricelist-seoul SEOUL
ebs:gp3                   GB-month      0.08   -      pricelist-us    US
ebs:gp3:iops              IOPS-month    0.005  -      pricelist-us    US
ebs:gp3:throughput        MiB/s-month   0.04   -      pricelist-us    US
ebs:gp3                   GB-month      0.0912 -      pricelist-seoul SEOUL
ebs:gp3:iops              IOPS-month    0.0057 -      pricelist-seoul SEOUL
ebs:gp3:throughput        MiB/s-month   0.0456 -      pricelist-seoul SEOUL
nat:hour                  hour          0.045  -      pricelist-us    US
nat:gb                    GB            0.045  -      pricelist-us    US
nat:hour                  hour          0.059  -      pricelist-seoul SEOUL
nat:gb                    GB            0.059  -      pricelist-seoul SEOUL
endpoint:hour             hour          0.010  -      pricelist-us    US
endpoint:hour             hour          0.013  -      pricelist-seoul SEOUL
endpoint:gb               GB            0.01   -      same            US SEOUL
ipv4:hour                 hour          0.005  -      same            US SEOUL
nlb:hour                  hour          0.0225 -      same            US SEOUL
logs:gb                   GB            0.50   -      pricelist-us    US
logs:gb                   GB            0.76   -      pricelist-seoul SEOUL
logs:stored               GB-month      0.03   -      pricelist-us    US
logs:stored               GB-month      0.0314 -      pricelist-seoul SEOUL
cloudwatch:metric         metric-month  0.30   -      same            US SEOUL
cloudwatch:alarm          alarm-month   0.10   -      same            US SEOUL
cloudwatch:dashboard      month         3.00   -      same            US SEOUL
aurora:acu                ACU-hour      0.12   -      aurora          US
aurora:acu                ACU-hour      0.12   0.204  aurora-seoul    SEOUL
kms:key                   month         1.00   -      same            US SEOUL
secret                    month         0.40   -      same            US SEOUL
budget                    month         0      0.62   same            US SEOUL
route53:zone              month         0.50   -      same            US SEOUL
"""
