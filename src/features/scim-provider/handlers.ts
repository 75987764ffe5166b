/** What is done with users and with groups alike, wherever they are addressed. */
import type { Principal } from '../../base/principal.js'
import { type ListWish, listResources, ScanLine } from '../../directory/provisioning/lists.js'
import { shownOf } from '../../directory/provisioning/showing.js'
import type { ResourceKind, Stored, Visit } from '../../directory/provisioning/visit.js'
import { type Projection, parseProjection } from '../../directory/scim/projection.js'
import type { HttpCall, Reply } from '../../http/endpoint.js'
import { bareReply, listReply, resourceReply, succeed } from './answers.js'
import { changeCondition, isKnown } from './preconditions.js'
import type { RequestLog } from './request-log.js'

/** Headers that name versions. */
export const VERSION_HEADERS = ['if-match', 'if-none-match'] as const

/** Which attributes an answer shows, as text. */
interface ShownInput {
  readonly attributes: string | null
  readonly excludedAttributes: string | null
}

/** A call about resources of a kind. */
interface ResourceCall {
  readonly kind: ResourceKind
  readonly caller: Principal
  readonly call: HttpCall
}

export class ResourceHandlers {
  readonly #line = new ScanLine()

  /** @param baseUrl where the service is found, without a slash at the end */
  constructor(
    private readonly log: RequestLog,
    private readonly baseUrl: string,
  ) {}

  async list(at: ResourceCall, query: ListWish & ShownInput): Promise<Reply> {
    const projection = this.#projection(at, query)
    const page = await listResources(at.kind, this.#visit(at), query, projection, this.#line)
    return listReply(succeed(page))
  }

  async create(at: ResourceCall, body: unknown, query: ShownInput): Promise<Reply> {
    const created = succeed(await at.kind.create(this.#visit(at), body))
    return this.#show(at, 201, created, this.#projection(at, query))
  }

  async read(at: ResourceCall, id: string, query: ShownInput): Promise<Reply> {
    const { kind, call } = at
    const visit = this.#visit(at)
    const found = succeed(kind.read(visit, id))
    if (isKnown(call.header('if-none-match'), found.version)) return bareReply(304, found.version)
    return this.#show(at, 200, found, this.#projection(at, query))
  }

  async replace(at: ResourceCall, id: string, body: unknown, query: ShownInput): Promise<Reply> {
    const replaced = succeed(await at.kind.replace(this.#visit(at), id, body))
    return this.#show(at, 200, replaced, this.#projection(at, query))
  }

  /** The resource is shown only to who says what to show of it (contract/directory 2). */
  async patch(at: ResourceCall, id: string, body: unknown, query: ShownInput): Promise<Reply> {
    const patched = succeed(await at.kind.patch(this.#visit(at), id, body))
    const projection = this.#projection(at, query)
    return projection.asked ? this.#show(at, 200, patched, projection) : bareReply(204, patched.version)
  }

  async remove(at: ResourceCall, id: string): Promise<Reply> {
    succeed(await at.kind.remove(this.#visit(at), id))
    return bareReply(204, null)
  }

  async #show(
    { kind }: ResourceCall,
    status: 200 | 201,
    record: Stored,
    projection: Projection,
  ): Promise<Reply> {
    const shown = await shownOf(kind, record, projection)
    const location = `${this.baseUrl}/${kind.name}s/${record.id}`
    return resourceReply(status, shown, {
      version: record.version,
      ...(status === 201 && { location }),
    })
  }

  #projection({ kind, call }: ResourceCall, { attributes, excludedAttributes }: ShownInput): Projection {
    const quirks = this.log.quirksOf(call)
    return parseProjection(attributes ?? undefined, excludedAttributes ?? undefined, kind.name, quirks)
  }

  #visit({ caller, call }: ResourceCall): Visit {
    const { organizationId, connectionId = '' } = caller
    const { requestId, address } = call
    return {
      scope: { organizationId, connectionId },
      actor: { actor: connectionId, requestId, address },
      quirks: this.log.quirksOf(call),
      allows: changeCondition(call.header('if-match'), call.header('if-none-match')),
      isOver: () => call.aborted,
    }
  }
}
