import torch.nn as nn
import a_package_nobody_has

model = nn.Linear(2, 2)
