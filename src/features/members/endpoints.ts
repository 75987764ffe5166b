/** The people of an organization and their roles (contract/directory 5 and 6). */
import { throwFault } from '../../base/fault.js'
import { DeletedAnswer, dataAnswer, pageAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { PAGING_QUERY } from '../../http/paging.js'
import { idParam, optionalUuidParam } from '../../http/params.js'
import { deletedReply, jsonReply, resourceReply } from '../../http/reply.js'
import { type MemberPorts, MemberService } from '../../identity/member-service.js'
import { encodeMember, encodeReasons, MemberChanges, MemberIn, MemberOut, RoleIn, Why } from './schema.js'

export type { MemberPorts }

const operation = endpointGroup({ tag: 'Members', dialect: gateway, access: 'management' })

const PATH = '/api/v1/members'
const MemberId = { id: idParam('Id of the member.') }
const RolePlace = { ...MemberId, workspace_id: idParam('Id of the workspace.') }
const MemberAnswer = dataAnswer(MemberOut)

export function memberEndpoints(ports: MemberPorts): Endpoint[] {
  const members = new MemberService(ports)
  return [...personEndpoints(members), ...roleEndpoints(members)]
}

const personEndpoints = (members: MemberService): Endpoint[] => [
  operation('list_members', `GET ${PATH}`, {
    summary: 'List members: of the organization, or with a role in a workspace',
    access: 'admin',
    query: { ...PAGING_QUERY, workspace_id: optionalUuidParam('Only who has a role in this workspace.') },
    replies: { 200: { description: 'A page of members', schema: pageAnswer(MemberOut) } },
    faults: ['item-not-found'],
    handle: async ({ caller, query }) => {
      const { entries, total } = await members.list(caller, query)
      return jsonReply(200, { data: entries.map(encodeMember), total_count: total })
    },
  }),
  operation('add_member', `POST ${PATH}`, {
    summary: 'Add a person whom no directory delivers',
    readsAddress: true,
    body: MemberIn,
    examples: { named: { user_name: 'ada@example.com', display_name: 'Ada Lovelace' } },
    replies: { 201: { description: 'The member, on disk; it has no role yet', schema: MemberAnswer } },
    faults: ['conflict', 'unavailable'],
    handle: async ({ caller, body }, call) =>
      resourceReply(await members.add(caller, body, call), encodeMember, 201),
  }),
  operation('read_own_member', `GET ${PATH}/me`, {
    summary: 'Read the member who calls, with all its roles',
    access: 'member',
    replies: { 200: { description: 'The member', schema: MemberAnswer } },
    faults: ['item-not-found'],
    handle: ({ caller }) => resourceReply(members.findSelf(caller), encodeMember),
  }),
  operation('read_member', `GET ${PATH}/{id}`, {
    summary: 'Read one member',
    access: 'admin',
    params: MemberId,
    replies: { 200: { description: 'The member', schema: MemberAnswer } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(members.find(caller, params.id), encodeMember),
  }),
  operation('update_member', `PATCH ${PATH}/{id}`, {
    summary: 'Rename, deactivate or activate a member that was added by hand',
    readsAddress: true,
    params: MemberId,
    body: MemberChanges,
    examples: { deactivated: { active: false } },
    replies: { 200: { description: 'The member as it is now, on disk', schema: MemberAnswer } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params, body }, call) =>
      resourceReply(await members.change(caller, params.id, body, call), encodeMember),
  }),
  operation('remove_member', `DELETE ${PATH}/{id}`, {
    summary: 'Remove a member that was added by hand, for good; its keys are refused from then on',
    readsAddress: true,
    params: MemberId,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params }, call) =>
      deletedReply((await members.remove(caller, params.id, call)) !== null),
  }),
]

const roleEndpoints = (members: MemberService): Endpoint[] => [
  operation('give_member_role', `PUT ${PATH}/{id}/roles/{workspace_id}`, {
    summary: 'Give a member a direct role in a workspace, beside what groups give',
    readsAddress: true,
    params: RolePlace,
    body: RoleIn,
    examples: { member: { role: 'member' } },
    replies: { 200: { description: 'The member with the role, on disk', schema: MemberAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) =>
      resourceReply(await members.giveRole(caller, params, body.role, call), encodeMember),
  }),
  operation('take_member_role', `DELETE ${PATH}/{id}/roles/{workspace_id}`, {
    summary: 'Take the direct role of a member in a workspace away; what groups give stays',
    access: 'admin',
    readsAddress: true,
    params: RolePlace,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => deletedReply(await members.takeRole(caller, params, call)),
  }),
  operation('read_member_why', `GET ${PATH}/{id}/why`, {
    summary: 'Read why a member has its role in a workspace; members may ask about themselves',
    access: 'member',
    params: MemberId,
    query: { workspace_id: { ...idParam('Id of the workspace.'), required: true } },
    replies: { 200: { description: 'The role and every fact that gives it', schema: dataAnswer(Why) } },
    faults: ['item-not-found'],
    handle: ({ caller, params, query }) => {
      const reasons = members.reasons(caller, params.id, query.workspace_id)
      return jsonReply(200, { data: encodeReasons(reasons ?? throwFault('item-not-found')) })
    },
  }),
]
