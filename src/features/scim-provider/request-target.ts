/**
 * Paths and queries of requests as their log tells them: words that the standard has, ids of ours and numbers. Anything
 * else may be somebody's name, wherever it stands, and is left out.
 */
import { type Attribute, SCHEMAS } from '../../directory/scim/schema.js'
import type { HttpCall } from '../../http/endpoint.js'
import { isUuid } from '../../http/params.js'

const LONGEST = 2_000
const LEFT_OUT = '…'

const PATH_WORD =
  /^(?:users|groups|serviceproviderconfig|serviceconfiguration|resourcetypes|schemas|user|group)$/i
const SCHEMA_IDS: readonly string[] = SCHEMAS.map(({ id }) => id.toLowerCase())

/** The path of a route with what stands in its braces, and the query. */
export function toldTarget(path: string, call: HttpCall): string {
  let index = 0
  const asked = path.replaceAll(/\{[^}]+\}/g, () => toldSegment(call.param(index++)))
  const query = call.query === '' ? '' : `?${call.query.slice(0, LONGEST).split('&').map(toldPair).join('&')}`
  return (asked + query).slice(0, LONGEST)
}

function toldSegment(text: string): string {
  const isKnown = isUuid(text) || PATH_WORD.test(text) || SCHEMA_IDS.includes(text.toLowerCase())
  return isKnown ? text : LEFT_OUT
}

/** How the values of parameters are told. */
const PARAMETERS: Readonly<Record<string, (value: string) => string>> = {
  filter: toldFilter,
  attributes: toldNames,
  excludedattributes: toldNames,
  sortby: toldNames,
  sortorder: (value) => (/^(?:a|de)scending$/i.test(value) ? value : LEFT_OUT),
  startindex: toldNumber,
  count: toldNumber,
  // A flag of Entra's, which changes what it sends.
  aadoptscim062020: () => '',
}

function toldPair(pair: string): string {
  const equals = pair.indexOf('=')
  const name = decoded(equals < 0 ? pair : pair.slice(0, equals))
  const tell = Object.hasOwn(PARAMETERS, name.toLowerCase()) ? PARAMETERS[name.toLowerCase()] : undefined
  if (tell === undefined) return LEFT_OUT
  return equals < 0 ? name : `${name}=${tell(decoded(pair.slice(equals + 1)))}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return LEFT_OUT
  }
}

function toldNumber(text: string): string {
  return /^-?\d{1,9}$/.test(text) ? text : LEFT_OUT
}

function toldNames(text: string): string {
  const parts = text.split(',').map((part) => part.trim())
  return parts.map((part) => (isAttribute(part) ? part : LEFT_OUT)).join()
}

const FILTER_PARTS = /\s+|[()[\]]|"(?:\\.|[^"\\])*"?|[^\s()[\]"]+/g
const OPERATOR = /^(?:eq|ne|co|sw|ew|gt|ge|lt|le|pr|and|or|not|[()[\]])$/i

/** A filter with its operators and attributes, and without what is compared with. */
function toldFilter(text: string): string {
  const tell = (part: string): string => {
    if (part.trim() === '') return ' '
    return OPERATOR.test(part) || isAttribute(part) ? part : LEFT_OUT
  }
  return (text.match(FILTER_PARTS) ?? []).map(tell).join('')
}

const NAMES = new Set([
  'id',
  'externalid',
  'meta',
  'schemas',
  'created',
  'lastmodified',
  'location',
  'version',
])
for (const { attributes } of SCHEMAS) for (const each of attributes) addNames(each)

function addNames({ name, subAttributes }: Attribute): void {
  NAMES.add(name.toLowerCase())
  for (const each of subAttributes) addNames(each)
}

/** A name of an attribute, perhaps behind the id of its schema. */
function isAttribute(text: string): boolean {
  const folded = text.toLowerCase()
  const schema = SCHEMA_IDS.find((id) => folded.startsWith(`${id}:`))
  const names = (schema === undefined ? folded : folded.slice(schema.length + 1)).split('.')
  return names.every((name) => NAMES.has(name))
}
