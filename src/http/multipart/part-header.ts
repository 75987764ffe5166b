/** What the headers of a multipart body and of its parts say (RFC 7578 sections 4.2 to 4.7). */
import { isUtf8 } from 'node:buffer'
import { type Fault, invalidInput } from '../../base/fault.js'

/** Lines of the same name, in order; values with one character per byte. */
export type PartHeaderLines = ReadonlyMap<string, readonly string[]>

export interface PartHeader {
  readonly name: string
  /** As sent, without a path; null where the part names no file. */
  readonly filename: string | null
  /** Media type without parameters, in lower case; `text/plain` when there is none. */
  readonly contentType: string
}

const MOST_NAME = 256
const MOST_FILENAME = 255
const PART_PARAMETER =
  /^;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"|([^\s;"]+))[ \t]*/
const MEDIA_TYPE = /^[!#$&^_.+0-9a-z-]{1,127}\/[!#$&^_.+0-9a-z-]{1,127}$/
const ENCODINGS = ['7bit', '8bit', 'binary']
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/

/** Throws a refusal when the part is none of a form, or when a reader could take it for two different things. */
export function readPartHeader(header: PartHeaderLines): PartHeader {
  const parameters = dispositionParameters(singleLine(header, 'content-disposition') ?? '')
  const name = parameters.get('name')
  if (name === undefined || name === '' || name.length > MOST_NAME) {
    throw multipartFault(`has a part without a name of 1 to ${MOST_NAME} characters`)
  }
  const encoding = singleLine(header, 'content-transfer-encoding')?.trim().toLowerCase() ?? 'binary'
  if (!ENCODINGS.includes(encoding)) throw multipartFault('has a part in a transfer encoding')
  const filename = parameters.get('filename')
  return {
    name,
    filename: filename === undefined ? null : baseName(filename),
    contentType: parseMediaType(singleLine(header, 'content-type')),
  }
}

function singleLine(header: PartHeaderLines, name: string): string | undefined {
  const lines = header.get(name) ?? []
  if (lines.length > 1) throw multipartFault('has a part with a repeated header field')
  return lines[0]
}

/** Parameters of `form-data`, by lower-case name, as text. The extended form (`filename*`) is not for forms. */
function dispositionParameters(value: string): Map<string, string> {
  const end = value.indexOf(';')
  if (value.slice(0, Math.max(end, 0)).trim().toLowerCase() !== 'form-data') {
    throw multipartFault('has a part that is no form-data')
  }
  const found = new Map<string, string>()
  let rest = value.slice(end)
  while (rest !== '') {
    const parameter = PART_PARAMETER.exec(rest)
    if (parameter === null) throw multipartFault('has a part whose header cannot be read')
    const [whole, name = '', quoted, token = ''] = parameter
    rest = rest.slice(whole.length)
    if (found.has(name.toLowerCase())) throw multipartFault('has a part with a repeated parameter')
    found.set(name.toLowerCase(), decodeName(quoted?.replace(/\\(["\\])/g, '$1') ?? token))
  }
  return found
}

function decodeName(raw: string): string {
  const bytes = Buffer.from(raw, 'latin1')
  if (!isUtf8(bytes)) throw multipartFault('has a part whose name is not UTF-8')
  const text = bytes.toString()
  if (CONTROL.test(text)) throw multipartFault('has a part whose name cannot be read')
  return text
}

/** Old browsers send a path. What is left of a name that is a path only is no name. */
function baseName(filename: string): string {
  const name = filename.slice(Math.max(filename.lastIndexOf('/'), filename.lastIndexOf('\\')) + 1)
  if (name === '.' || name === '..') return ''
  if (name.length > MOST_FILENAME)
    throw multipartFault(`has a file name of more than ${MOST_FILENAME} characters`)
  return name
}

function parseMediaType(value: string | undefined): string {
  if (value === undefined) return 'text/plain'
  const end = value.indexOf(';')
  const essence = (end < 0 ? value : value.slice(0, end)).trim().toLowerCase()
  if (!MEDIA_TYPE.test(essence)) throw multipartFault('has a part whose type cannot be read')
  if (essence.startsWith('multipart/')) throw multipartFault('has a multipart part; a form may not be nested')
  return essence
}

/** What is wrong with a multipart body. `field` is the name of a part where one is to blame, and a known one. */
export function multipartFault(note: string, field?: string): Fault {
  return invalidInput(field === undefined ? ['body'] : ['body', field], note)
}

// ── The body's own header ───────────────────────────────────────────────────

const FORM_DATA = 'multipart/form-data'
/** One parameter: a token, or a quoted string. The quoted form may hold quoted pairs, which no boundary needs. */
const PARAMETER =
  /^[ \t]*;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"([^"\\]*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))[ \t]*/
/** 1 to 70 characters, of which a space may not be the last. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/

/**
 * The boundary of a multipart body, from its Content-Type (RFC 2046 section 5.1.1, RFC 9110 section 8.3.1). Null when
 * the type is not multipart/form-data, or names no boundary, two, or one that cannot be.
 */
export function boundaryOf(contentType: string): string | null {
  const end = contentType.indexOf(';')
  if (end < 0 || contentType.slice(0, end).trim().toLowerCase() !== FORM_DATA) return null
  let rest = contentType.slice(end)
  let boundary: string | null = null
  while (rest !== '') {
    const found = PARAMETER.exec(rest)
    if (found === null) return null
    const [whole, name = '', quoted, token] = found
    rest = rest.slice(whole.length)
    if (name.toLowerCase() !== 'boundary') continue
    if (boundary !== null) return null
    boundary = quoted ?? token ?? ''
  }
  return boundary !== null && BOUNDARY.test(boundary) ? boundary : null
}
