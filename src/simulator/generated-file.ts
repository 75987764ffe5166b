/** The file that `sim/filemaker` makes of what the user sent last (contract/decisions 29). */
import type { Principal } from '../base/principal.js'
import type { ChatRequest, ContentPart } from '../gateway/formats/canonical.js'
import type { ContentBlock } from '../gateway/formats/messages.js'
import { lastUserText } from './answer/tool-choice.js'

/** Keeps files for callers. */
export interface GeneratedFiles {
  /** Stores a file of the server's own in the caller's workspace. Fails with a `Fault`. */
  store(caller: Principal, filename: string, content: Uint8Array): Promise<GeneratedFile>
  /** Takes a file back that nobody has been told of. */
  discard(id: string): Promise<void>
}

export interface GeneratedFile {
  readonly id: string
  readonly filename: string
  readonly mimeType: string
  readonly sizeBytes: number
}

/** A name and what stands under it. */
export interface FileDraft {
  readonly filename: string
  readonly content: Buffer
}

const TEXT_NAME = 'message.txt'

/** A sound or a file of the message as it is, otherwise its text; null when there is none of them. */
export function draftFile({ messages }: ChatRequest): FileDraft | null {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  if (Array.isArray(content)) {
    for (const part of content as readonly ContentPart[]) {
      const draft = draftFileOfPart(part)
      if (draft !== null) return draft
    }
  }
  const text = lastUserText(messages)
  return text === '' ? null : { filename: TEXT_NAME, content: Buffer.from(text) }
}

const DATA_URL = /^data:[^,]{0,256};base64,/i

function draftFileOfPart(part: ContentPart): FileDraft | null {
  if (part.type === 'input_audio') {
    const { data, format } = part.input_audio
    const extension = /^[\w-]{1,16}$/.test(format) ? format : 'bin'
    return decodeDraft(`audio.${extension}`, data.replace(DATA_URL, ''))
  }
  if (part.type !== 'file' || part.file.file_data === undefined) return null
  const { file_data: data, filename = 'file' } = part.file
  // Whatever lies elsewhere is fetched by nobody here.
  return DATA_URL.test(data) ? decodeDraft(filename, data.replace(DATA_URL, '')) : null
}

function decodeDraft(filename: string, base64: string): FileDraft | null {
  const content = Buffer.from(base64, 'base64')
  return content.byteLength === 0 ? null : { filename, content }
}

/** How a chat answer names the file. */
export function toFileAnnotation({
  id,
  filename,
  mimeType,
  sizeBytes,
}: GeneratedFile): Record<string, unknown> {
  return { type: 'file', file: { file_id: id, filename, mime_type: mimeType, size_bytes: sizeBytes } }
}

/** The same in the messages format: a block per annotation (contract/gateway 5.7). */
export function toContainerUploads(
  annotations: readonly Readonly<Record<string, unknown>>[] = [],
): ContentBlock[] {
  return annotations.map(({ file }) => ({
    type: 'container_upload',
    file_id: (file as { readonly file_id: string }).file_id,
  }))
}
