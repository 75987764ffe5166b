/** Whether bytes are what their format says. Only their beginning is looked at. */

/** As many bytes of the beginning as are needed. */
export const HEAD_BYTES = 12

interface AudioContainer {
  readonly names: readonly string[]
  readonly begins: (head: Buffer) => boolean
  /** Every file of the kind begins so; of the others some do not. */
  readonly strict: boolean
}

const hasTextAt = (head: Buffer, offset: number, text: string): boolean =>
  head.toString('latin1', offset, offset + text.length) === text

const AUDIO_CONTAINERS: readonly AudioContainer[] = [
  {
    names: ['wav'],
    begins: (head) => hasTextAt(head, 0, 'RIFF') && hasTextAt(head, 8, 'WAVE'),
    strict: true,
  },
  { names: ['flac'], begins: (head) => hasTextAt(head, 0, 'fLaC'), strict: true },
  { names: ['ogg', 'oga', 'opus'], begins: (head) => hasTextAt(head, 0, 'OggS'), strict: true },
  { names: ['webm'], begins: (head) => hasTextAt(head, 0, '\x1a\x45\xdf\xa3'), strict: true },
  { names: ['m4a', 'mp4'], begins: (head) => hasTextAt(head, 4, 'ftyp'), strict: false },
  { names: ['mp3', 'mpga', 'mpeg'], begins: isMp3, strict: false },
]

/** A tag, or the sync word of a frame of layer three. */
function isMp3(head: Buffer): boolean {
  if (hasTextAt(head, 0, 'ID3')) return true
  return head.byteLength > 1 && head[0] === 0xff && (head[1]! & 0xe6) === 0xe2
}

/** What a file that calls itself `format` really is, or that it is none; null when nothing speaks against it. */
export function formatMismatch(format: string, head: Uint8Array): string | null {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  const declared = AUDIO_CONTAINERS.find(({ names }) => names.includes(format.toLowerCase()))
  const found = AUDIO_CONTAINERS.find(({ begins }) => begins(bytes))
  if (declared === undefined || declared === found) return null
  if (found !== undefined) return `is said to be ${format} and is ${found.names[0]}`
  return declared.strict ? `is said to be ${format} and is not` : null
}
