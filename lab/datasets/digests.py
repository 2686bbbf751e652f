"""SHA-256 of the content that each data set must have (`lab.datasets.convert.digest`), where it is known."""

DIGESTS = {
    "mnist": "25b1a379d0a35342a5fb605ae7092594efeb1d484ce10bc5a55be448befd58ab",
    "fashion_mnist": "2eec74045003bb5cc54c46331f8c48f77611acac295f1d863e16fbd263546563",
    "cifar10_4k1k": "4cbc74d22ae5fbba1a479f3a901188bb766d302fd07c78924a4ab6f63347c008",
    "mnist_sample": "3ca21d79b6e5e1f8bf9a3a6d333b1e28b736f6edc5f81c4f7abcb8720040a44a",
    "fashion_mnist_sample": "a4ae3c0050e07bc52bdec65f808bd4f4f4d5fb38864da523a3abd32843b760fe",
    "credit": "1d674bd1455b3b38edb4a937d8130fb663a3c3996f653b28bb1da299058551f5",
    "covertype": "aff65a97c1e5f20a8aa59d3d267f84e317edd1b574b8d24dc0aab615a66dc155",
    "house_16H": "99f60d436f70e57951072c05c93d7162e7551cb065aa780f3b006bdb9f0e85c8",
    "MagicTelescope": "11bff068dc30b9a6897f6714997314b48e293b682f33a3bf6a49e4d38efe0860",
    "bank-marketing": "c894dcd59eb1c151f1a97df2acf81dd95c0a4c204c512a7fc828efce7e1e6c36",
    "eye_movements": "e57fb85ce29ed9512af55cac1247be1eb5ad863231d8094bb5fa65399862c323",
    "Diabetes130US": "2077e2bf84b459bb605fa589af777ee181aba29d197281d88726dd549e40183f",
    "default-of-credit-card-clients": "97f9fdff9425caf57763edbf66a97e23366e927d628e2ddfa092211759701ffa",
    "california": "a03e026698a2b1fe09cc182c8d44717e7476b32c12833aa02542cd812625ee14",
    "heloc": "c4c9e1985ce1fc6a80d28eff6169054316e59419bc292aa43c18b8580f4754cd",
    "covertype_sample": "41ef3c08c73af8afd03b1bccc11246ca9e15cb821fecdfb6e8b31e572a77b851",
    "shakespeare": "1d8d43407a4e6c362d696365e10e41fbf7dbc093dd23dce211111208032191be",
    "moby_dick": "8a33333af6e524eeb6b9fb7b3f14514a0e98f8043ab406f70fc5a312ec180d36",
    "gpt2_merges": "5330df6a873ce8b550811d27a7692f66ec265cfec40a24aebeb36e20ff219b32",
    "state_of_the_union": "697183ed2f6414f97273932d586944235da75580b72b3556f9e2eef7d61195b8",
}
