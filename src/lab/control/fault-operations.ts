import { randomBytes } from 'node:crypto'
import { faultWindowAt } from '../faults/active-fault.js'
import type { LabPorts } from '../lab-command.js'
import { nanosecondText } from '../summary/summarize.js'
import { FAULT_KINDS, type FaultPlan, faultRequest, LabRequestError, validateInput } from './requests.js'
import { jsonResponse, type LabResponse } from './run-operations.js'

const ACKNOWLEDGE_MS = 35
/** A loop that is blocked for longer is no stall any more: nothing could end it. */
const MOST_BLOCK_MS = 60_000
const MOST_FAULTS = 100

/** The faults that are switched on, and the ways to switch them. */
export class FaultOperations {
  readonly #ports: LabPorts
  readonly #faults = new Map<string, FaultPlan>()

  constructor(ports: LabPorts) {
    this.#ports = ports
  }

  /** Those that are under way or still to come. */
  plans(): readonly FaultPlan[] {
    const now = this.#ports.now()
    for (const [id, plan] of this.#faults) if (faultWindowAt(plan, now) === null) this.#faults.delete(id)
    return [...this.#faults.values()]
  }

  list(): LabResponse {
    const now = this.#ports.now()
    return jsonResponse(200, {
      enabled: this.#ports.faults,
      faults: this.plans().map((plan) => faultBody(plan, now)),
    })
  }

  async add(body: unknown): Promise<LabResponse> {
    this.#requireFaultsEnabled()
    const { afterMs, ...request } = validateInput(faultRequest, body)
    validateFault(request, Object.keys(body as object), this.#ports.operations)
    if (this.plans().length >= MOST_FAULTS) {
      throw new LabRequestError(409, `there are ${MOST_FAULTS} faults already: delete some first`)
    }
    const startMs = this.#ports.now() + afterMs
    const plan: FaultPlan = { id: randomBytes(4).toString('hex'), ...request, startMs }
    this.#faults.set(plan.id, plan)
    await this.#ports.fleet.ask({ do: 'add-fault', fault: plan }, ACKNOWLEDGE_MS)
    return jsonResponse(201, faultBody(plan, this.#ports.now()))
  }

  /** @param id of one fault; all of them without */
  async remove(id: string | null): Promise<LabResponse> {
    this.#requireFaultsEnabled()
    if (id !== null && !this.#faults.has(id))
      throw new LabRequestError(404, `there is no fault ${id.slice(0, 40)}`)
    const removed = id === null ? [...this.#faults.keys()] : [id]
    for (const each of removed) this.#faults.delete(each)
    await this.#ports.fleet.ask({ do: 'remove-fault', fault: id }, ACKNOWLEDGE_MS)
    return jsonResponse(200, { removed })
  }

  #requireFaultsEnabled(): void {
    if (this.#ports.faults) return
    throw new LabRequestError(
      403,
      'faults are switched off: start the server with --lab, or with SLUICE_LAB_FAULTS=on (lab_faults in the file)',
    )
  }
}

/** @param given the fields that the caller has set */
function validateFault(
  { kind, op, forMs, everyMs }: Omit<FaultPlan, 'id' | 'startMs'>,
  given: readonly string[],
  operations: ReadonlySet<string>,
): void {
  const missing = FAULT_KINDS[kind].find((field) => !given.includes(field))
  if (missing !== undefined) throw LabRequestError.ofField(missing, `${kind} needs one`)
  if (op !== '*' && !operations.has(op)) {
    throw LabRequestError.ofField('op', `there is no operation ${JSON.stringify(op.slice(0, 100))}`)
  }
  if ((kind === 'block' || kind === 'accept-pause') && op !== '*') {
    throw LabRequestError.ofField('op', `${kind} meets the whole server, so that no operation can be named`)
  }
  if (kind === 'block' && forMs! > MOST_BLOCK_MS) {
    throw LabRequestError.ofField('forMs', `a block lasts ${MOST_BLOCK_MS} ms at most`)
  }
  if (everyMs === null) return
  if (forMs === null) throw LabRequestError.ofField('forMs', 'everyMs needs one')
  if (everyMs < forMs) throw LabRequestError.ofField('everyMs', 'must be at least forMs, or windows overlap')
}

function faultBody(plan: FaultPlan, now: number): Record<string, unknown> {
  const { startMs, ...rest } = plan
  const window = faultWindowAt(plan, now)
  return {
    ...rest,
    startNs: nanosecondText(startMs),
    active: window !== null && now >= window.from,
    ...(window !== null && { nextNs: nanosecondText(window.from) }),
  }
}

/** In words of a person. */
export function describeFault(fault: FaultPlan): string {
  const { kind, op, worker, forMs, everyMs, prob, addMs, status, token } = fault
  const words = [
    kind,
    op === '*' ? 'everything' : op,
    worker !== null && `worker ${worker}`,
    kind === 'error' && `status ${status}`,
    addMs > 0 && `${addMs} ms more`,
    token > 0 && `token ${token}`,
    prob < 1 && `${prob * 100} % of calls`,
    forMs !== null && `for ${forMs} ms`,
    everyMs !== null && `every ${everyMs} ms`,
  ]
  return words.filter((word) => word !== false).join(', ')
}
