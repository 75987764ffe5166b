/** What an organization may spend and has spent (contract/gateway 11.2). Money is in dollars. */
import { z } from 'zod'
import { type Clock, isoTime, unixMs } from '../../base/clock.js'
import { Fault, invalidInput } from '../../base/fault.js'
import { dollarsToNanos, MAX_DOLLARS, nanosToDollars } from '../../base/money.js'
import { dataAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type Reply } from '../../http/endpoint.js'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply } from '../../http/reply.js'
import { withCredits } from '../../identity/credits-history.js'
import type { AccountStore, Organization } from '../../store/account-store.js'
import { organizationPayer, type UsageLedger } from '../../store/ledger-store.js'

const Credits = nameSchema(
  'Credits',
  z.object({
    total_credits: z.number().meta({
      description: `All credits there ever were; ${MAX_DOLLARS} when they are unlimited.`,
    }),
    total_usage: z.number(),
    unlimited: z.boolean(),
  }),
)
const CreditsAnswer = dataAnswer(Credits)

const CreditsChanges = dataAnswer(
  z.array(
    nameSchema(
      'CreditsChange',
      z.object({
        changed_at: z.string(),
        total_credits: z
          .number()
          .nullable()
          .meta({ description: 'What there ever was since then, in dollars; null for no end.' }),
        change: z
          .number()
          .nullable()
          .meta({ description: 'Dollars more or fewer than before; null when either has no end.' }),
        changed_by: z.string().meta({ description: 'Hash of the management key.' }),
      }),
    ),
  ),
)

const CreditsIn = nameSchema(
  'CreditsIn',
  z.object({
    amount: boundedNumber(0, MAX_DOLLARS).meta({ description: 'Dollars to add.' }),
    organization_id: boundedString(1, 256)
      .optional()
      .meta({ description: 'Whose credits; those of the calling organization when absent.' }),
  }),
)

const operation = endpointGroup({ tag: 'Credits and usage', dialect: gateway, access: 'management' })

export const creditEndpoints = (accounts: AccountStore, ledger: UsageLedger, clock: Clock): Endpoint[] => {
  const creditsReply = async (organization: Organization | null, status: number): Promise<Reply> => {
    if (organization === null) throw new Fault('item-not-found')
    await ledger.sync()
    const [spent] = await ledger.spending([organizationPayer(organization.id)], unixMs(clock))
    return jsonReply(status, { data: encodeCredits(organization, spent!.total) })
  }
  return [
    operation('read_credits', 'GET /api/v1/credits', {
      summary: 'Read the credits of the organization and what it has spent',
      replies: { 200: { description: 'The credits', schema: CreditsAnswer } },
      faults: ['unavailable'],
      handle: ({ caller }) => creditsReply(accounts.organization(caller.organizationId), 200),
    }),
    operation('list_credits_changes', 'GET /api/v1/credits/history', {
      summary: 'List the last changes of the credits of the organization, newest first, 50 at most',
      replies: { 200: { description: 'The changes', schema: CreditsChanges } },
      faults: ['unavailable'],
      handle: ({ caller }) => {
        const organization = accounts.organization(caller.organizationId)
        if (organization === null) throw new Fault('item-not-found')
        return jsonReply(200, { data: encodeHistory(organization) })
      },
    }),
    operation('add_credits', 'POST /api/v1/credits', {
      summary: 'Add to the credits of an organization; without any so far they become limited',
      access: 'operator',
      body: CreditsIn,
      examples: { another: { amount: 5, organization_id: '01a1fa3a-1f5c-7723-b5d8-fa71e82c8de2' } },
      replies: { 201: { description: 'The credits as they are now, on disk', schema: CreditsAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: async ({ caller, body }) => {
        let tooMuch = false
        const add = (current: Organization): Organization => {
          const credits = (current.credits ?? 0) + dollarsToNanos(body.amount)
          tooMuch = credits > dollarsToNanos(MAX_DOLLARS)
          if (tooMuch) return current
          const at = unixMs(clock)
          return { ...withCredits(current, { at, credits, by: caller.keyHash }), updatedAt: at }
        }
        const changed = await accounts.changeOrganization(body.organization_id ?? caller.organizationId, add)
        if (tooMuch) throw invalidInput(['body', 'amount'], TOO_MUCH)
        return creditsReply(changed, 201)
      },
    }),
  ]
}

const TOO_MUCH = `would make the credits more than ${MAX_DOLLARS} dollars`

function encodeHistory({ creditsHistory = [] }: Organization): z.output<typeof CreditsChanges>['data'] {
  return creditsHistory
    .map(({ at, credits, by }, n) => {
      // What was there before the first change that is kept is not known; before the first of all there was no end.
      const before = creditsHistory[n - 1]?.credits ?? null
      return {
        changed_at: isoTime(at),
        total_credits: credits === null ? null : nanosToDollars(credits),
        change: credits === null || before === null ? null : nanosToDollars(credits - before),
        changed_by: by,
      }
    })
    .reverse()
}

function encodeCredits({ credits = null }: Organization, spent: number): z.infer<typeof Credits> {
  return {
    total_credits: credits === null ? MAX_DOLLARS : nanosToDollars(credits),
    total_usage: nanosToDollars(spent),
    unlimited: credits === null,
  }
}
