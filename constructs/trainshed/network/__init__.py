"""The network of a cluster: VPC, compute subnet, endpoints and security groups in one zone."""

from .endpoints import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from .training_network import TrainingNetwork

__all__ = ["GATEWAY_ENDPOINTS", "INTERFACE_ENDPOINTS", "TrainingNetwork"]
