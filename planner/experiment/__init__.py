"""What the user wants trained, complete and validated."""
