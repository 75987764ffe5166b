/** How long a recording is, by the recording itself: for calls whose provider says nothing of it. */

interface Recording {
  readonly format: string
  readonly bytes: { readonly size: number; read(): AsyncIterable<Uint8Array> }
}

const PCM_BYTES_PER_SECOND = 32_000

/** Seconds; null for what is not looked into, or is not what it is said to be. Never rejects. */
export async function measureSeconds({ format, bytes }: Recording): Promise<number | null> {
  try {
    switch (format.toLowerCase()) {
      case 'pcm':
        return bytes.size / PCM_BYTES_PER_SECOND
      case 'wav':
        for await (const head of bytes.read()) return wavSeconds(Buffer.from(head), bytes.size)
        return null
      case 'mp3':
      case 'mpga':
      case 'mpeg':
        return await mp3Seconds(bytes)
      default:
        return null
    }
  } catch {
    // The caller has left, and the bytes are gone.
    return null
  }
}

// ── WAV ─────────────────────────────────────────────────────────────────────

/** Samples, floats, the two laws of telephony, and any of them with more channels. Others are compressed. */
const SAMPLE_CODINGS: ReadonlySet<number> = new Set([1, 3, 6, 7, 0xff_fe])
const SLOWEST_RATE = 4_000
const FASTEST_RATE = 384_000

/** `head`: the first bytes of a file of `size`. A length that goes beyond the file is that of one written as it was sent. */
function wavSeconds(head: Buffer, size: number): number | null {
  if (head.toString('latin1', 0, 4) !== 'RIFF') return null
  let bytesPerSecond = 0
  for (let at = 12; at + 8 <= head.byteLength; ) {
    const name = head.toString('latin1', at, at + 4)
    const length = head.readUInt32LE(at + 4)
    const left = size - at - 8
    if (name === 'fmt ' && at + 24 <= head.byteLength) bytesPerSecond = wavRate(head.subarray(at + 8))
    if (name === 'data')
      return bytesPerSecond === 0 ? null : (length === 0 ? left : Math.min(length, left)) / bytesPerSecond
    at += 8 + length + (length % 2)
  }
  return null
}

/** 0 where it does not follow from the samples. The rate of bytes that a file tells is read by no decoder. */
function wavRate(chunk: Buffer): number {
  const [coding, channels, bits] = [0, 2, 14].map((at) => chunk.readUInt16LE(at)) as [number, number, number]
  const rate = chunk.readUInt32LE(4)
  const isKnown = SAMPLE_CODINGS.has(coding) && rate >= SLOWEST_RATE && rate <= FASTEST_RATE && bits >= 8
  return isKnown ? channels * rate * (bits >> 3) : 0
}

// ── MP3 ─────────────────────────────────────────────────────────────────────

/** Samples per second of MPEG-1; MPEG-2 has half as many, MPEG-2.5 a quarter. */
const MP3_RATES = [44_100, 48_000, 32_000]
/** Kilobits per second of layer III, of MPEG-1 and of the later ones. */
const MP3_BITRATES = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const LATER_BITRATES = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const HEADER_BYTES = 4
/** Bytes in a row between two frames; what has more of them is no MP3. */
const MOST_STRAY_BYTES = 64 * 1024

/** All frames are counted: neither their rate nor what a file says of its length holds for all of them. */
async function mp3Seconds(bytes: Recording['bytes']): Promise<number | null> {
  let seconds = 0
  let toSkip: number | null = null
  let header = 0
  let stray = 0
  for await (const piece of bytes.read()) {
    toSkip ??= tagLength(piece)
    for (let at = 0; at < piece.byteLength; ) {
      if (toSkip > 0) {
        const skipped = Math.min(toSkip, piece.byteLength - at)
        at += skipped
        toSkip -= skipped
        continue
      }
      header = ((header << 8) | piece[at++]!) >>> 0
      const frame = mp3Frame(header)
      if (frame !== null) {
        seconds += frame.seconds
        toSkip = frame.bytes - HEADER_BYTES
        header = 0
        stray = 0
      } else if (++stray > MOST_STRAY_BYTES) return null
    }
  }
  return seconds > 0 ? seconds : null
}

/** Of the ID3v2 tag that goes before the first frame; pictures in it may look like frames. */
function tagLength(head: Uint8Array): number {
  if (head.byteLength < 10 || Buffer.from(head.subarray(0, 3)).toString('latin1') !== 'ID3') return 0
  return 10 + head.subarray(6, 10).reduce((value, byte) => value * 128 + (byte & 0x7f), 0)
}

/** A frame of layer III by its header, a big-endian number; null for four bytes that are none. */
function mp3Frame(header: number): { readonly bytes: number; readonly seconds: number } | null {
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== 1) return null
  const version = (header >>> 19) & 3
  const rate = MP3_RATES[(header >>> 10) & 3]! / [4, 0, 2, 1][version]!
  const kilobits = (version === 3 ? MP3_BITRATES : LATER_BITRATES)[(header >>> 12) & 15]!
  // Reserved values, and frames of a length that nothing tells.
  if (!Number.isFinite(rate) || !(kilobits > 0)) return null
  const samples = version === 3 ? 1152 : 576
  const bytes = Math.floor((samples * 125 * kilobits) / rate) + ((header >>> 9) & 1)
  return { bytes, seconds: samples / rate }
}
