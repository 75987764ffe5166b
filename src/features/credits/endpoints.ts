import type { z } from 'zod'
import type { Clock } from '../../base/clock.js'
import { Fault, ValidationIssue } from '../../base/fault.js'
import { NANOS_PER_DOLLAR, nanosToDollars } from '../../base/money.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { jsonReply } from '../../http/reply.js'
import type { AccountStore, Organization } from '../../store/account-store.js'
import { organizationPayer, type UsageLedger } from '../../store/ledger-store.js'
import { type Credits, CreditsAnswer, CreditsIn, LARGEST_CREDITS } from './schema.js'

const operation = endpointGroup({ tag: 'usage', dialect: gateway })
const NOT_FOUND = new Fault('item-not-found')
const NOT_OPERATOR = new Fault('forbidden', { note: 'Only the operator can perform this operation' })

/** What an organization may spend and has spent (contract/gateway 11.2). */
export const creditEndpoints = (accounts: AccountStore, ledger: UsageLedger, clock: Clock): Endpoint[] => {
  const now = (): number => Math.floor(clock.unixSeconds() * 1000)
  const answer = async (organization: Organization, status: number) => {
    await ledger.sync()
    const { total } = ledger.spending(organizationPayer(organization.id), now())
    return jsonReply(status, { data: encodeCredits(organization, total) })
  }
  return [
    operation('read_credits', 'GET /api/v1/credits', {
      summary: 'Read the credits of the organization and what it has spent',
      access: 'management',
      replies: { 200: { description: 'The credits', schema: CreditsAnswer } },
      faults: ['unavailable'],
      handle: ({ caller }) => answer(accounts.organization(caller.organizationId) ?? throwNotFound(), 200),
    }),
    operation('add_credits', 'POST /api/v1/credits', {
      summary: 'Add to the credits of an organization; without any so far they become limited',
      access: 'management',
      body: CreditsIn,
      replies: { 201: { description: 'The credits as they are now, on disk', schema: CreditsAnswer } },
      faults: ['forbidden', 'item-not-found', 'unavailable'],
      handle: async ({ caller, body }) => {
        if (!caller.operator) throw NOT_OPERATOR
        const id = body.organization_id ?? caller.organizationId
        const added = Math.round(body.amount * NANOS_PER_DOLLAR)
        let tooMuch = false
        const changed = await accounts.changeOrganization(id, (current) => {
          const credits = (current.credits ?? 0) + added
          tooMuch = credits > LARGEST_CREDITS * NANOS_PER_DOLLAR
          return tooMuch ? current : { ...current, credits, updatedAt: now() }
        })
        if (tooMuch) throw new Fault('invalid-input', { issues: [TOO_MUCH] })
        return answer(changed ?? throwNotFound(), 201)
      },
    }),
  ]
}

const TOO_MUCH = new ValidationIssue(
  ['body', 'amount'],
  'other',
  undefined,
  `would make the credits more than ${LARGEST_CREDITS} dollars`,
)

function encodeCredits({ credits = null }: Organization, spent: number): z.infer<typeof Credits> {
  return {
    total_credits: credits === null ? LARGEST_CREDITS : nanosToDollars(credits),
    total_usage: nanosToDollars(spent),
    unlimited: credits === null,
  }
}

function throwNotFound(): never {
  throw NOT_FOUND
}
