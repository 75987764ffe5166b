/** What the log of a connection keeps of its requests: nothing that tells of a person (contract/directory 1). */
import { type Clock, unixMs } from '../../base/clock.js'
import { newUuidV7 } from '../../base/ids.js'
import type { Principal } from '../../base/principal.js'
import type { Quirks } from '../../directory/scim/quirks.js'
import type { HttpCall, Reply } from '../../http/endpoint.js'
import { isUuid } from '../../http/params.js'
import type { DirectoryConnections } from '../../store/directory-store.js'

const LONGEST_TARGET = 2_000
const LEFT_OUT = '…'

/** Rows are written when the answer is known; until then what was noted of a call stands here. */
export class RequestLog {
  readonly #noted = new WeakMap<HttpCall, Quirks>()
  readonly #written = new WeakSet<HttpCall>()

  constructor(
    private readonly connections: Pick<DirectoryConnections, 'logRequest'>,
    private readonly clock: Clock,
  ) {}

  /** The leniencies of a call, to be added to. */
  quirksOf(call: HttpCall): Quirks {
    let quirks = this.#noted.get(call)
    if (quirks === undefined) {
      quirks = new Set()
      this.#noted.set(call, quirks)
    }
    return quirks
  }

  /** Takes the answers of one operation. `route` is its method and path, parameters in braces. */
  answered(route: string): (call: HttpCall, reply: Reply) => void {
    const [method = '', path = ''] = route.split(' ')
    return (call, reply) => {
      const { connectionId, tokenId } = call.admission as Principal
      if (connectionId === undefined || tokenId === undefined || this.#written.has(call)) return
      this.#written.add(call)
      const at = unixMs(this.clock)
      this.connections.logRequest({
        ...{ id: newUuidV7(at), at, connectionId, tokenId, method },
        target: targetOf(path, call),
        status: reply.status,
        scimType: scimTypeOf(reply),
        quirks: [...this.quirksOf(call)],
        requestId: call.requestId,
      })
    }
  }
}

/** What was told, not what was meant. */
function scimTypeOf({ status, body }: Reply): string | null {
  if (status < 400 || typeof body !== 'string') return null
  const { scimType } = JSON.parse(body) as { scimType?: string }
  return scimType ?? null
}

function targetOf(path: string, call: HttpCall): string {
  let index = 0
  const asked = path.replaceAll(/\{[^}]+\}/g, () => toldSegment(call.param(index++)))
  const query = call.query === '' ? '' : `?${call.query.split('&').map(toldPair).join('&')}`
  return (asked + query).slice(0, LONGEST_TARGET)
}

/** Ids are ours; any other text may be somebody's name. */
function toldSegment(text: string): string {
  return isUuid(text) || KNOWN_WORD.test(text) ? text : LEFT_OUT
}

const KNOWN_WORD =
  /^(?:users|groups|serviceproviderconfig|serviceconfiguration|resourcetypes|schemas|user|group|urn:ietf:[\w:.]+)$/i

/** Parameters whose values name attributes and numbers. */
const TOLD = /^(?:attributes|excludedattributes|sortby|sortorder|startindex|count)$/i

function toldPair(pair: string): string {
  const [name = '', value = ''] = pair.split('=', 2).map(decoded)
  if (!/^[\w-]{1,64}$/.test(name)) return LEFT_OUT
  if (value === '') return name
  if (/^filter$/i.test(name)) return `${name}=${toldFilter(value)}`
  return TOLD.test(name) && /^[\w:.,$ -]*$/.test(value) ? `${name}=${value}` : `${name}=${LEFT_OUT}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return LEFT_OUT
  }
}

const FILTER_PARTS = /\s+|[()[\]]|"(?:\\.|[^"\\])*"?|[^\s()[\]"]+/g
const COMPARISON = /^(?:eq|ne|co|sw|ew|gt|ge|lt|le|pr)$/i
const JUNCTION = /^(?:and|or|not)$/i
const ATTRIBUTE = /^[A-Za-z][\w:.$-]*$/

/** A filter with its operators and attributes, and without what is compared with. */
function toldFilter(text: string): string {
  const parts = text.match(FILTER_PARTS) ?? []
  const follows = (from: number): string => parts.slice(from + 1).find((part) => part.trim() !== '') ?? ''
  return parts
    .map((part, at) => {
      if (part.trim() === '') return ' '
      if (/^[()[\]]$/.test(part) || COMPARISON.test(part) || JUNCTION.test(part)) return part
      const isCompared = ATTRIBUTE.test(part) && /^(?:eq|ne|co|sw|ew|gt|ge|lt|le|pr|\[)$/i.test(follows(at))
      return isCompared ? part : LEFT_OUT
    })
    .join('')
}
