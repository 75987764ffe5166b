/** The fields of a transcription form as the body that JSON would have (contract/gateway 6.2). */
import { Fault, ValidationIssue } from '../../base/fault.js'
import { readBySchema } from '../../http/body.js'
import type { MultipartFields } from '../../http/multipart.js'
import { audioUrl, type TranscriptionBody, TranscriptionIn } from './schema.js'

const TEXTS = ['model', 'language', 'response_format', 'session_id', 'user'] as const
const LISTS = ['timestamp_granularities', 'keyterms'] as const
const OBJECTS = ['provider', 'trace'] as const

interface TranscriptionFormFields {
  readonly body: Omit<TranscriptionBody, 'input_audio'>
  readonly sourceUrl: string | undefined
}

/** Throws `invalid-input` for the first field that is wrong. Fields that nobody knows are ignored. */
export function readFormFields(fields: MultipartFields): TranscriptionFormFields {
  if (fields.names.includes('file')) throw fieldFault('file', 'must be a file')
  const body: Record<string, unknown> = {}
  for (const name of TEXTS) body[name] = fields.single(name)
  body.temperature = readNumber(fields, 'temperature')
  body.diarize = readFlag(fields, 'diarize')
  for (const name of LISTS) body[name] = readList(fields, name)
  for (const name of OBJECTS) body[name] = readObject(fields, name)
  for (const name of Object.keys(body)) if (body[name] === undefined) delete body[name]
  const issues: ValidationIssue[] = []
  const sourceUrl = fields.single('source_url')
  const checked = readBySchema(FormSchema, body, issues) as TranscriptionFormFields['body']
  if (sourceUrl !== undefined && !audioUrl.safeParse(sourceUrl).success) {
    throw fieldFault('source_url', 'must be an http or https URL of at most 8000 characters')
  }
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return { body: checked, sourceUrl }
}

const FormSchema = TranscriptionIn.omit({ input_audio: true })

/** An empty list that was named is one without entries, which is for the schema to refuse. */
function readList(fields: MultipartFields, name: string): string[] | undefined {
  const isNamed = fields.names.includes(name) || fields.names.includes(`${name}[]`)
  return isNamed ? fields.list(name) : undefined
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/

function readNumber(fields: MultipartFields, name: string): number | undefined {
  const text = fields.single(name)
  if (text === undefined) return undefined
  if (!DECIMAL.test(text)) throw fieldFault(name, 'must be a number')
  return Number(text)
}

function readFlag(fields: MultipartFields, name: string): boolean | undefined {
  const text = fields.single(name)
  if (text === undefined) return undefined
  if (text !== 'true' && text !== 'false') throw fieldFault(name, 'must be true or false')
  return text === 'true'
}

function readObject(fields: MultipartFields, name: string): unknown {
  const text = fields.single(name)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Told below, without the text.
  }
  throw fieldFault(name, 'must be a JSON object')
}

function fieldFault(field: string, note: string): Fault {
  return new Fault('invalid-input', {
    issues: [new ValidationIssue(['body', field], 'other', undefined, note)],
  })
}
