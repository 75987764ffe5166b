/** Lets a model list, read and write files of the caller's workspace (contract/tools 3.4). */
import { Fault } from '../../../base/fault.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { ServerTool, ToolFiles, ToolFunction, ToolOutcome } from '../port/tool.js'

/** Bytes of one reading: a model asks again for what is behind them. */
const MOST_READ = 64 * 1024
const DEFAULT_READ = 32 * 1024
const MOST_WRITTEN = 1024 * 1024
const MOST_LISTED = 100
const DEFAULT_LISTED = 20

const FUNCTION: ToolFunction = {
  name: 'files',
  description:
    'Files of the workspace. list tells the newest ones, read gives the text of one, write makes a new one that the user can download.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['list', 'read', 'write'] },
      limit: { type: 'integer', description: `Of list: most files, up to ${MOST_LISTED}.` },
      file_id: { type: 'string', description: 'Of read: the id of the file.' },
      offset: { type: 'integer', description: 'Of read: the byte to begin with; 0 when absent.' },
      length: { type: 'integer', description: `Of read: most bytes, up to ${MOST_READ}.` },
      filename: { type: 'string', description: 'Of write: the name of the file.' },
      content: { type: 'string', description: 'Of write: its text.' },
    },
    required: ['command'],
  },
}

export function createFilesTool(): ServerTool {
  return {
    name: 'files',
    prepare: () => ({
      functions: [FUNCTION],
      backend: 'workspace',
      fee: () => 0,
      run: ({ arguments: args }, { files }) =>
        runCommand(files, args).catch(() => failed('the files cannot be reached at the moment')),
    }),
  }
}

async function runCommand(files: ToolFiles, args: JsonObject): Promise<ToolOutcome> {
  switch (args.command) {
    case 'list':
      return list(files, args)
    case 'read':
      return read(files, args)
    case 'write':
      return write(files, args)
    default:
      return refused('command must be list, read or write')
  }
}

async function list(files: ToolFiles, args: JsonObject): Promise<ToolOutcome> {
  const limit = wholeNumber(args.limit, DEFAULT_LISTED, 1, MOST_LISTED)
  if (limit === null) return refused(`limit must be a whole number from 1 to ${MOST_LISTED}`)
  const found = await files.list(limit)
  const listed = found.map(({ id, filename, mimeType, sizeBytes, createdAt }) => ({
    ...{ file_id: id, filename, mime_type: mimeType, size_bytes: sizeBytes },
    created_at: new Date(createdAt).toISOString(),
  }))
  return succeeded({ files: listed })
}

async function read(files: ToolFiles, args: JsonObject): Promise<ToolOutcome> {
  const offset = wholeNumber(args.offset, 0, 0, Number.MAX_SAFE_INTEGER)
  const length = wholeNumber(args.length, DEFAULT_READ, 4, MOST_READ)
  if (offset === null || length === null)
    return refused(`offset must be a whole number, and length one from 4 to ${MOST_READ}`)
  const file = typeof args.file_id === 'string' ? await files.find(args.file_id) : null
  if (file === null) return failed('the workspace has no file of this file_id')
  const told = {
    file_id: file.id,
    filename: file.filename,
    mime_type: file.mimeType,
    size_bytes: file.sizeBytes,
  }
  if (!file.mimeType.startsWith('text/')) return failed('the file is no text', told)
  const bytes = await files.readPart(file.id, offset, length)
  if (bytes === null) return failed('the file cannot be read at the moment', told)
  const { text, end } = wholeCharacters(bytes, offset)
  return succeeded({ ...told, offset, content: text, next_offset: end < file.sizeBytes ? end : null })
}

async function write(files: ToolFiles, { filename, content }: JsonObject): Promise<ToolOutcome> {
  if (typeof filename !== 'string' || filename === '') return refused('filename must be a text')
  if (typeof content !== 'string' || content === '') return refused('content must be a text')
  const bytes = Buffer.from(content.toWellFormed())
  if (bytes.length > MOST_WRITTEN) return refused(`content may have ${MOST_WRITTEN} bytes`)
  try {
    const file = await files.create(filename, bytes)
    const told = { file_id: file.id, filename: file.filename, size_bytes: file.sizeBytes }
    return { ...succeeded(told), files: [file] }
  } catch (error) {
    const note = error instanceof Fault ? error.note : undefined
    return failed(`the file could not be stored${note === undefined ? '' : `: ${note}`}`)
  }
}

/** The text of a piece of UTF-8, without what of a character its ends cut off, and the offset behind it. */
function wholeCharacters(bytes: Buffer, offset: number): { readonly text: string; readonly end: number } {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  // The last character is cut off where fewer bytes follow its first one than that announces.
  let last = bytes.length - 1
  while (last > start && isContinuation(bytes[last])) last--
  const announced = sizeOfCharacter(bytes[last] ?? 0)
  const end = last + announced > bytes.length && last > start ? last : bytes.length
  return { text: bytes.toString('utf8', start, end), end: offset + end }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function sizeOfCharacter(first: number): number {
  if (first < 0xc0) return 1
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}

function wholeNumber(value: unknown, missing: number, least: number, most: number): number | null {
  if (value === undefined || value === null) return missing
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) return null
  return value
}

function succeeded(content: JsonObject): ToolOutcome {
  return { content, isError: false, executed: true, charged: 0 }
}

function failed(error: string, told: JsonObject = {}): ToolOutcome {
  return { content: { error, ...told }, isError: true, executed: true, charged: 0 }
}

/** Nothing was asked of the workspace: the call does not count. */
function refused(error: string): ToolOutcome {
  return { ...failed(error), executed: false }
}
