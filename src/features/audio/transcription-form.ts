/** The fields of a transcription form as the body that JSON would have (contract/gateway 6.2). */
import type { z } from 'zod'
import { Fault, invalidInput, type ValidationIssue } from '../../base/fault.js'
import { readBySchema } from '../../http/body.js'
import type { MultipartFields } from '../../http/multipart.js'
import { audioUrl, TranscriptionIn } from './schema.js'

/** The value of a field; undefined when the form has none. Throws what is wrong with it. */
type FieldReader = (fields: MultipartFields, name: string) => unknown

/** A field that comes once. `parse` returns undefined for what the note does not allow. */
function singleField(parse: (text: string) => unknown, note = ''): FieldReader {
  return (fields, name) => {
    const text = fields.single(name)
    if (text === undefined) return undefined
    const value = parse(text)
    if (value === undefined) throw invalidInput(['body', name], note)
    return value
  }
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/

const text = singleField((value) => value)
const number = singleField((value) => (DECIMAL.test(value) ? Number(value) : undefined), 'must be a number')
const flag = singleField(
  (value) => (value === 'true' || value === 'false' ? value === 'true' : undefined),
  'must be true or false',
)
const object = singleField(parseObject, 'must be a JSON object')

/** An empty list that was named is one without entries, which is for the schema to refuse. */
const list: FieldReader = (fields, name) =>
  fields.names.includes(name) || fields.names.includes(`${name}[]`) ? fields.list(name) : undefined

const READERS: Readonly<Record<string, FieldReader>> = {
  model: text,
  language: text,
  response_format: text,
  session_id: text,
  user: text,
  temperature: number,
  diarize: flag,
  timestamp_granularities: list,
  keyterms: list,
  provider: object,
  trace: object,
}

const FormSchema = TranscriptionIn.omit({ input_audio: true })

interface TranscriptionFormFields {
  readonly body: z.output<typeof FormSchema>
  readonly sourceUrl: string | undefined
}

/** Throws `invalid-input` for the first field that is wrong. Fields that nobody knows are ignored. */
export function readFormFields(fields: MultipartFields): TranscriptionFormFields {
  const values = Object.entries(READERS).map(([name, read]) => [name, read(fields, name)] as const)
  const sourceUrl = fields.single('source_url')
  if (sourceUrl !== undefined && !audioUrl.safeParse(sourceUrl).success) {
    throw invalidInput(['body', 'source_url'], 'must be an http or https URL of at most 8000 characters')
  }
  const given = Object.fromEntries(values.filter(([, value]) => value !== undefined))
  return { body: readValid(FormSchema, given), sourceUrl }
}

/** The value of a schema. Throws all that the input breaks. */
export function readValid<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const issues: ValidationIssue[] = []
  const value = readBySchema(schema, input, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return value as z.output<Schema>
}

function parseObject(value: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined
  } catch {
    return undefined // refused without the text
  }
}
