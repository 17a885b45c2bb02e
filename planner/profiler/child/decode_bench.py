"""Images one core decodes and crops a second, with Pillow where the interpreter has it.

The image is as large as ImageNet's are on average (500 x 375), of smooth noise, which compresses about as photographs
do; it is cropped and resized to 224 x 224 as in training. Writes one JSON object, or nothing without Pillow.

usage: python decode_bench.py SECONDS
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from typing import Any

SIZE = (500, 375)
CROP = 224
LEAST_IMAGES = 5


def sample(image_module: Any) -> bytes:
    """A JPEG of quality 90: 1/8 of its pixels at random, enlarged."""
    generator = random.Random(7)
    small = (SIZE[0] // 8, SIZE[1] // 8)
    pixels = bytes(generator.randrange(256) for _ in range(3 * small[0] * small[1]))
    image = image_module.frombytes("RGB", small, pixels).resize(SIZE, image_module.BICUBIC)
    file = io.BytesIO()
    image.save(file, "JPEG", quality=90)
    return file.getvalue()


def main(seconds: float) -> None:
    try:
        from PIL import Image
    except ImportError:
        return
    data = sample(Image)
    begin = time.perf_counter()
    images = 0
    while images < LEAST_IMAGES or time.perf_counter() - begin < seconds:
        image = Image.open(io.BytesIO(data)).convert("RGB")
        image.resize((CROP, CROP), Image.Resampling.BILINEAR, box=(40, 20, 440, 340)).tobytes()
        images += 1
    rate = images / (time.perf_counter() - begin)
    sys.stdout.write(json.dumps({"kind": "decode", "images_per_s_per_core": rate}) + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]))
