/** Resources as answers show them. */
import { TurnSlices } from '../../base/turn-slices.js'
import type { ScimDocument, ScimValue } from '../../store/directory-store.js'
import type { Projection } from '../scim/projection.js'
import type { ResourceKind, Stored } from './visit.js'

/** Members that are gone through in one go. */
const AT_ONCE = 1_000

/** What a request asks to see of a record. Only the members of a group can be so many that they hold the loop. */
export async function shownOf<T extends Stored>(
  kind: ResourceKind<T>,
  record: T,
  projection: Projection,
): Promise<ScimDocument> {
  const resource = await kind.render(record, projection.wants(kind.list))
  const { members } = resource
  if (!Array.isArray(members) || members.length <= AT_ONCE) return projection.of(resource)
  const slices = new TurnSlices()
  const shown: ScimValue[] = []
  for (let from = 0; from < members.length; from += AT_ONCE) {
    const piece = projection.of({ members: members.slice(from, from + AT_ONCE) as readonly ScimValue[] })
    shown.push(...((piece.members ?? []) as readonly ScimValue[]))
    if (slices.isOver) await slices.next()
  }
  const whole = projection.of({ ...resource, members: [] })
  return 'members' in whole ? { ...whole, members: shown } : whole
}
