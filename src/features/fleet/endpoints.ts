/** The machines that are one server, for its operator. Money is in dollars, durations are in seconds. */
import { z } from 'zod'
import { mapMaybe } from '../../base/maybe-promise.js'
import { nanosToDollars } from '../../base/money.js'
import { dataAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply, NO_STORE } from '../../http/reply.js'
import type { FailureRow } from '../../store/fleet-failures.js'
import {
  type FleetMachine,
  type FleetOverview,
  type FleetView,
  MACHINE_STATES,
} from '../../store/fleet-view.js'

const count = z.int().min(0)
const dollars = z.number().min(0)
const seconds = z.number()

const Machine = nameSchema(
  'FleetMachine',
  z.object({
    name: z.string(),
    state: z.enum(MACHINE_STATES).meta({
      description:
        '`live` machines beat; an `expired` one was not heard for too long and serves nobody who needs a key; one that has `left` ended by itself.',
    }),
    epoch: count.meta({ description: 'Counted up each time the machine joins.' }),
    release: z.string().nullable(),
    version_applied: count.meta({ description: 'How much of the change log it has applied.' }),
    beat_age_s: seconds
      .min(0)
      .nullable()
      .meta({ description: 'Since its last beat; null with an embedded store.' }),
    leases: count,
    leased: dollars.meta({
      description:
        'Dollars that are set aside for its calls, over all limits: the same dollar counts for a key and for its organization.',
    }),
    frozen: dollars.meta({
      description:
        'Dollars of them that nobody can spend before its journal is taken in, or the machine is forgotten.',
    }),
    journal_backlog_bytes: count.meta({
      description: 'What it has answered and the ledger has not taken in yet.',
    }),
    clock_difference_s: seconds
      .nullable()
      .meta({ description: 'How far its clock is ahead of the store’s.' }),
  }),
)

const Failure = nameSchema(
  'FleetFailure',
  z.object({
    id: z.string(),
    failure: z.string().meta({ description: 'What fails; the other members say what becomes of it.' }),
    keys: z.string(),
    money: z.string(),
    windows: z.string(),
    ledger: z.string(),
    calls: z.string().meta({ description: 'Calls under way, and those that come meanwhile.' }),
    lasts: z.string(),
    seen: z.string().meta({ description: 'What an operator sees.' }),
  }),
)

const Fleet = nameSchema(
  'Fleet',
  z.object({
    store: z.enum(['embedded', 'postgresql']),
    version: count.meta({ description: 'Newest version of the change log; 0 with an embedded store.' }),
    machines: z.array(Machine),
    failures: z.array(Failure).meta({
      description:
        'What happens when a part of the fleet fails, with the settings of the machine that answers; empty with an embedded store.',
    }),
  }),
)

export interface FleetPorts {
  readonly view: FleetView
  readonly failures: readonly FailureRow[]
}

const operation = endpointGroup({ tag: 'Service', dialect: gateway, access: 'operator' })

export const fleetEndpoints = ({ view, failures }: FleetPorts): Endpoint[] => [
  operation('read_fleet', 'GET /api/v1/fleet', {
    summary: 'List the machines of the server, with what they hold',
    replies: { 200: { description: 'The machines, by name', schema: dataAnswer(Fleet) } },
    faults: ['unavailable'],
    handle: () =>
      mapMaybe(view.read(), (overview) =>
        jsonReply(200, { data: { ...encodeFleet(overview), failures } }, NO_STORE),
      ),
  }),
]

function encodeFleet({ store, version, machines }: FleetOverview): Omit<z.infer<typeof Fleet>, 'failures'> {
  return { store, version, machines: machines.map(encodeMachine) }
}

function encodeMachine(machine: FleetMachine): z.infer<typeof Machine> {
  const { name, state, epoch, release, applied, leases, beatAgeMs, clockDifferenceMs } = machine
  return {
    name,
    state,
    epoch,
    release,
    version_applied: applied,
    beat_age_s: toSeconds(beatAgeMs),
    leases,
    leased: nanosToDollars(machine.leased),
    frozen: nanosToDollars(machine.frozen),
    journal_backlog_bytes: machine.journalBytes,
    clock_difference_s: toSeconds(clockDifferenceMs),
  }
}

function toSeconds(milliseconds: number | null): number | null {
  return milliseconds === null ? null : milliseconds / 1000
}
