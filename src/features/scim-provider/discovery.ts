/** What the service says of itself, and what it says it does not do (RFC 7644 section 4). */
import { Fault, throwFault } from '../../base/fault.js'
import { resourceTypes, schemas, serviceProviderConfig } from '../../directory/scim/discovery.js'
import { listResponse } from '../../directory/scim/rendering.js'
import type { Endpoint, HttpMethod, Reply } from '../../http/endpoint.js'
import { idParam, optionalTextParam } from '../../http/params.js'
import type { ScimDocument } from '../../store/directory-store.js'
import { scimReply } from './answers.js'
import type { FaceOperation } from './face.js'
import { DISCOVERED, listOf } from './schema.js'

export const CONFIG_WORD = 'ServiceProviderConfig'

/** Documents by the word of their list. */
export class Discovery {
  readonly #config: string
  readonly #lists: ReadonlyMap<string, readonly ScimDocument[]>

  /** @param baseUrl where the service is found, without a slash at the end */
  constructor(baseUrl: string) {
    this.#config = JSON.stringify(serviceProviderConfig(baseUrl))
    this.#lists = new Map([
      ['ResourceTypes', resourceTypes(baseUrl)],
      ['Schemas', schemas(baseUrl)],
    ])
  }

  /** The configuration, or all documents of a kind. A filter is refused, as the standard wants it. */
  all(word: string, filter: string | null): Reply {
    if (filter !== null) throw NO_FILTER
    if (word === CONFIG_WORD) return scimReply(200, this.#config)
    const documents = this.#lists.get(word) ?? throwFault('item-not-found')
    return scimReply(200, JSON.stringify(listResponse(documents, documents.length, 1)))
  }

  one(word: string, id: string): Reply {
    const found = this.#lists.get(word)?.find((document) => document.id === id)
    return scimReply(200, JSON.stringify(found ?? throwFault('item-not-found')))
  }
}

const NO_FILTER = new Fault('forbidden', {
  note: 'Filters are not applied to what the service says of itself',
})
const NO_BULK = new Fault('not-implemented', { note: 'Bulk operations are not supported' })
const NO_SELF = new Fault('not-implemented', { note: 'A token of a connection stands for no user' })
const NO_ROOT = new Fault('not-implemented', { note: 'Search users or groups, not both at a time' })

const FILTER_QUERY = { filter: optionalTextParam('Refused with 403: the standard wants it so.') }

export function discoveryEndpoints(operation: FaceOperation, discovery: Discovery): Endpoint[] {
  const all = (name: string, word: string, summary: string) =>
    operation(name, `GET /${word}`, {
      summary,
      query: FILTER_QUERY,
      replies: {
        200: {
          description: 'As it is',
          schema: word === CONFIG_WORD ? DISCOVERED : listOf(DISCOVERED),
          mediaType: MEDIA,
        },
      },
      handle: ({ query }) => discovery.all(word, query.filter),
    })
  const one = (name: string, word: string, summary: string, id: string) =>
    operation(name, `GET /${word}/{id}`, {
      summary,
      params: { id: idParam(id) },
      replies: { 200: { description: 'The document', schema: DISCOVERED, mediaType: MEDIA } },
      faults: ['item-not-found'],
      handle: ({ params }) => discovery.one(word, params.id),
    })
  return [
    all('read_provisioning_config', CONFIG_WORD, 'Read what the service supports'),
    all('list_provisioning_resource_types', 'ResourceTypes', 'List the kinds of resources'),
    one(
      'read_provisioning_resource_type',
      'ResourceTypes',
      'Read one kind of resources',
      '`User` or `Group`.',
    ),
    all('list_provisioning_schemas', 'Schemas', 'List the schemas of resources'),
    one('read_provisioning_schema', 'Schemas', 'Read one schema', 'URN of the schema.'),
    ...missingEndpoints(operation),
  ]
}

/** What the standard has and this service has not; the first of several methods is in the document. */
function missingEndpoints(operation: FaceOperation): Endpoint[] {
  const missing = (
    name: string,
    route: `${HttpMethod} /${string}`,
    summary: string,
    fault: Fault,
    hidden = false,
  ) =>
    operation(name, route, {
      summary,
      replies: {},
      faults: ['not-implemented'],
      keepsRecords: true,
      hidden,
      handle: () => {
        throw fault
      },
    })
  const selves = (['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).map((method) =>
    missing(
      'read_provisioned_self',
      `${method} /Me`,
      'Not supported: a connection is no user',
      NO_SELF,
      method !== 'GET',
    ),
  )
  return [
    missing('provision_in_bulk', 'POST /Bulk', 'Not supported, as the configuration says', NO_BULK),
    missing('search_provisioned', 'POST /.search', 'Not supported: search one kind of resources', NO_ROOT),
    ...selves,
  ]
}

const MEDIA = 'application/scim+json'
