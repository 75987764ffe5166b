/** Three hundred kilobytes in which neighbours differ. */
export const BIG_BYTES = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7) & 255))
