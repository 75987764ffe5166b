/** Answers of the provisioning service. */
import { Fault, type FaultKind } from '../../base/fault.js'
import { TurnSlices } from '../../base/turn-slices.js'
import type { ListPage } from '../../directory/provisioning/lists.js'
import { ScimError } from '../../directory/scim/errors.js'
import { etagOf, listResponse } from '../../directory/scim/rendering.js'
import { SCIM_TYPE } from '../../http/dialects/scim-v2.js'
import type { HeaderList, Reply } from '../../http/endpoint.js'
import type { ScimDocument, ScimValue } from '../../store/directory-store.js'

const CONTENT_TYPE = ['Content-Type', SCIM_TYPE] as const

const KINDS: Readonly<Record<ScimError['status'], FaultKind>> = {
  400: 'invalid-input',
  404: 'item-not-found',
  409: 'conflict',
  412: 'precondition-failed',
  413: 'payload-too-large',
}

/** The outcome, unless it is a refusal, which is thrown as the fault it is. */
export function succeed<T>(outcome: T | ScimError): T {
  if (!(outcome instanceof ScimError)) return outcome
  const { status, scimType, detail } = outcome
  throw new Fault(KINDS[status], { note: detail, scimType: scimType ?? undefined })
}

/** A document. */
export function scimReply(status: number, text: string, headers: HeaderList = []): Reply {
  return { status, headers: [CONTENT_TYPE, ...headers], body: text }
}

/** A resource in a version; where it was created, with its address. */
export async function resourceReply(
  status: 200 | 201,
  shown: ScimDocument,
  { version, location }: { readonly version: number; readonly location?: string },
): Promise<Reply> {
  const headers: (readonly [string, string])[] = [['ETag', etagOf(version)]]
  if (location !== undefined) headers.push(['Location', location])
  return scimReply(status, await textOf(shown, new TurnSlices()), headers)
}

/** 204 or 304 of a version. */
export function bareReply(status: 204 | 304, version: number | null): Reply {
  return { status, headers: version === null ? [] : [['ETag', etagOf(version)]], body: null }
}

export async function listReply({ resources, total, startIndex }: ListPage): Promise<Reply> {
  const slices = new TurnSlices()
  const texts: string[] = []
  for (const resource of resources) {
    texts.push(await textOf(resource, slices))
    if (slices.isOver) await slices.next()
  }
  const { Resources: _, ...envelope } = listResponse(resources, total, startIndex)
  return scimReply(200, `${JSON.stringify(envelope).slice(0, -1)},"Resources":[${texts.join()}]}`)
}

/** Entries that are written in one go. */
const WRITTEN_AT_ONCE = 1_000

/** JSON of a resource. Only the members of a group can be so many that they hold the loop. */
async function textOf(resource: ScimDocument, slices: TurnSlices): Promise<string> {
  const { members, ...rest } = resource
  if (!Array.isArray(members) || members.length <= WRITTEN_AT_ONCE) return JSON.stringify(resource)
  const texts: string[] = []
  for (let from = 0; from < members.length; from += WRITTEN_AT_ONCE) {
    const piece = (members as readonly ScimValue[]).slice(from, from + WRITTEN_AT_ONCE)
    texts.push(JSON.stringify(piece).slice(1, -1))
    if (slices.isOver) await slices.next()
  }
  return `${JSON.stringify(rest).slice(0, -1)},"members":[${texts.join()}]}`
}
