/** What issuers and policies have in common: five operations on the records of the caller's organization. */
import type { z } from 'zod'
import type { Cancellation } from '../../base/cancellation.js'
import { type FaultKind, throwFault } from '../../base/fault.js'
import { type AuditActor, actorOfCaller } from '../../federation/audit-log.js'
import { DeletedAnswer, dataAnswer, pageAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type Reply } from '../../http/endpoint.js'
import { entityTagOf, ifMatchAllows } from '../../http/entity-tags.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { idParam } from '../../http/params.js'
import { deletedReply, jsonReply } from '../../http/reply.js'

export const operation = endpointGroup({ tag: 'Workload identity', dialect: gateway, access: 'management' })

/** One kind of record, as its operations need it. */
interface FederationRecordKind<R, Input, Changes> {
  /** Singular and plural, in sentences. */
  readonly noun: readonly [one: string, many: string]
  /** Singular and plural, in names of operations. */
  readonly names: readonly [one: string, many: string]
  readonly path: `/${string}`
  readonly tag?: string
  readonly summaries: Readonly<Record<'list' | 'create' | 'read' | 'update' | 'delete', string>>
  readonly schemas: {
    readonly input: z.ZodType<Input>
    readonly changes: z.ZodType<Changes>
    readonly record: z.ZodType
  }
  /** See `EndpointSpec.examples`. */
  readonly examples: Readonly<Record<'input' | 'changes', Readonly<Record<string, object>>>>
  readonly encode: (record: R) => object
  readonly updateFaults: readonly FaultKind[]
  readonly service: {
    list(organizationId: string): readonly R[]
    find(organizationId: string, id: string): R | null
    create(actor: AuditActor, input: Input, caller: Cancellation): Promise<R>
    /** Fails with `precondition-failed` when the record that would be replaced is not allowed to be. */
    change(
      actor: AuditActor,
      id: string,
      changes: Changes,
      caller: Cancellation,
      allows: (current: R) => boolean,
    ): Promise<R | null>
    remove(actor: AuditActor, id: string): Promise<boolean>
  }
}

export const recordEndpoints = <R, Input, Changes>({
  noun: [one, many],
  names: [oneName, manyName],
  path,
  tag,
  summaries,
  schemas,
  examples,
  encode,
  updateFaults,
  service,
}: FederationRecordKind<R, Input, Changes>): Endpoint[] => {
  const grouped = tag === undefined ? {} : { tag }
  const params = { id: idParam(`Id of the ${one}.`) }
  const answer = dataAnswer(schemas.record)
  /** A record with its version. */
  const shown = (record: R | null, status = 200): Reply => {
    const data = encode(record ?? throwFault('item-not-found'))
    return jsonReply(status, { data }, [['ETag', entityTagOf(data)]])
  }
  return [
    operation(`list_${manyName}`, `GET ${path}`, {
      ...grouped,
      summary: summaries.list,
      query: PAGING_QUERY,
      replies: { 200: { description: `A page of ${many}`, schema: pageAnswer(schemas.record) } },
      handle: ({ caller, query }) =>
        jsonReply(200, pageOfList(service.list(caller.organizationId), query, encode)),
    }),
    operation(`create_${oneName}`, `POST ${path}`, {
      ...grouped,
      summary: summaries.create,
      readsAddress: true,
      body: schemas.input,
      examples: examples.input,
      replies: { 201: { description: `The ${one}, on disk`, schema: answer } },
      faults: ['unavailable'],
      handle: async ({ caller, body }, call) =>
        shown(await service.create(actorOfCaller(caller, call), body, call), 201),
    }),
    operation(`read_${oneName}`, `GET ${path}/{id}`, {
      ...grouped,
      params,
      summary: summaries.read,
      replies: { 200: { description: `The ${one}`, schema: answer } },
      faults: ['item-not-found'],
      handle: ({ caller, params }) => shown(service.find(caller.organizationId, params.id)),
    }),
    operation(`update_${oneName}`, `PATCH ${path}/{id}`, {
      ...grouped,
      params,
      summary: summaries.update,
      readsAddress: true,
      body: schemas.changes,
      examples: examples.changes,
      replies: { 200: { description: `The ${one} as it is now, on disk`, schema: answer } },
      headers: ['if-match'],
      faults: [...updateFaults, 'precondition-failed'],
      handle: async ({ caller, params, body }, call) => {
        const ifMatch = call.header('if-match')
        const allows = (current: R): boolean => ifMatchAllows(ifMatch, entityTagOf(encode(current)))
        return shown(await service.change(actorOfCaller(caller, call), params.id, body, call, allows))
      },
    }),
    operation(`delete_${oneName}`, `DELETE ${path}/{id}`, {
      ...grouped,
      params,
      summary: summaries.delete,
      readsAddress: true,
      replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: async ({ caller, params }, call) =>
        deletedReply(await service.remove(actorOfCaller(caller, call), params.id)),
    }),
  ]
}
