/**
 * Paths as some clients spell them: in another case, with a slash at the end, by an old name (contract/directory 3). Each use is counted. Routes of the standard's own spelling come before these.
 */
import { throwFault } from '../../base/fault.js'
import type { ResourceKind } from '../../directory/provisioning/visit.js'
import type { Endpoint, HttpCall } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { CONFIG_WORD, type Discovery } from './discovery.js'
import type { FaceOperation } from './face.js'
import type { ResourceHandlers } from './handlers.js'
import type { RequestLog } from './request-log.js'
import { GroupIn, LIST_QUERY, PatchIn, SearchIn, SHOWN_QUERY, wishOf } from './schema.js'

interface AliasPorts {
  readonly handlers: ResourceHandlers
  readonly kinds: Readonly<Record<'Users' | 'Groups', ResourceKind>>
  readonly discovery: Discovery
  readonly log: RequestLog
}

const WORDS = ['Users', 'Groups', CONFIG_WORD, 'ResourceTypes', 'Schemas'] as const
const OLD_CONFIG_WORD = 'serviceconfiguration'

/** The standard's word for a path; what of it is a leniency is counted. */
function wordOf(text: string, isSlashed: boolean, call: HttpCall, log: RequestLog): string {
  const folded = text.toLowerCase()
  const isOld = folded === OLD_CONFIG_WORD
  const word = isOld ? CONFIG_WORD : WORDS.find((each) => each.toLowerCase() === folded)
  if (word === undefined) throwFault('not-found')
  const quirks = log.quirksOf(call)
  if (isSlashed) quirks.add('trailing-slash')
  if (isOld) quirks.add('service-configuration')
  else if (word !== text) quirks.add('lower-case-endpoint')
  return word
}

const RESOURCE = { resource: idParam('Kind of the resource.') }
const RESOURCE_ID = { ...RESOURCE, id: idParam('Id of the resource.') }

/** As they stand, and with a slash at the end. */
export function aliasEndpoints(operation: FaceOperation, ports: AliasPorts): Endpoint[] {
  return (['', '/'] as const).flatMap((slash) => [
    ...listAliases(operation, ports, slash),
    ...resourceAliases(operation, ports, slash),
  ])
}

const HIDDEN = { replies: {}, hidden: true } as const

function listAliases(operation: FaceOperation, ports: AliasPorts, slash: '' | '/'): Endpoint[] {
  const { handlers, discovery, log } = ports
  const kindOf = kindFinder(ports, slash)
  return [
    operation('list_provisioned_resources', `GET /{resource}${slash}`, {
      ...HIDDEN,
      summary: 'List resources, by another spelling',
      params: RESOURCE,
      query: LIST_QUERY,
      handle: ({ caller, params, query }, call) => {
        const word = wordOf(params.resource, slash === '/', call, log)
        if (word !== 'Users' && word !== 'Groups') return discovery.all(word, query.filter)
        return handlers.list({ kind: ports.kinds[word], caller, call }, query)
      },
    }),
    operation('create_provisioned_resource', `POST /{resource}${slash}`, {
      ...HIDDEN,
      summary: 'Deliver a resource, by another spelling',
      params: RESOURCE,
      query: SHOWN_QUERY,
      body: GroupIn,
      handle: ({ caller, params, query, body }, call) =>
        handlers.create({ kind: kindOf(params.resource, call), caller, call }, body, query),
    }),
    operation('search_provisioned_resources', `POST /{resource}/.search${slash}`, {
      ...HIDDEN,
      summary: 'Find resources, by another spelling',
      params: RESOURCE,
      body: SearchIn,
      keepsRecords: true,
      handle: ({ caller, params, body }, call) =>
        handlers.list({ kind: kindOf(params.resource, call), caller, call }, wishOf(body)),
    }),
  ]
}

function resourceAliases(operation: FaceOperation, ports: AliasPorts, slash: '' | '/'): Endpoint[] {
  const { handlers, discovery, log } = ports
  const kindOf = kindFinder(ports, slash)
  const path = `/{resource}/{id}${slash}` as const
  const shared = { ...HIDDEN, params: RESOURCE_ID, query: SHOWN_QUERY }
  return [
    operation('read_provisioned_resource', `GET ${path}`, {
      ...shared,
      summary: 'Read a resource, by another spelling',
      handle: ({ caller, params, query }, call) => {
        const word = wordOf(params.resource, slash === '/', call, log)
        if (word !== 'Users' && word !== 'Groups') return discovery.one(word, params.id)
        return handlers.read({ kind: ports.kinds[word], caller, call }, params.id, query)
      },
    }),
    operation('replace_provisioned_resource', `PUT ${path}`, {
      ...shared,
      summary: 'Replace a resource, by another spelling',
      body: GroupIn,
      handle: ({ caller, params, query, body }, call) =>
        handlers.replace({ kind: kindOf(params.resource, call), caller, call }, params.id, body, query),
    }),
    operation('update_provisioned_resource', `PATCH ${path}`, {
      ...shared,
      summary: 'Change a resource, by another spelling',
      body: PatchIn,
      handle: ({ caller, params, query, body }, call) =>
        handlers.patch({ kind: kindOf(params.resource, call), caller, call }, params.id, body, query),
    }),
    operation('delete_provisioned_resource', `DELETE ${path}`, {
      ...shared,
      summary: 'Remove a resource, by another spelling',
      handle: ({ caller, params }, call) =>
        handlers.remove({ kind: kindOf(params.resource, call), caller, call }, params.id),
    }),
  ]
}

function kindFinder({ kinds, log }: AliasPorts, slash: '' | '/') {
  return (text: string, call: HttpCall): ResourceKind => {
    const word = wordOf(text, slash === '/', call, log)
    if (word !== 'Users' && word !== 'Groups') throwFault('not-found')
    return kinds[word]
  }
}
