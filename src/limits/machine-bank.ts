/**
 * What a machine of a fleet has of the bank: it draws for the machine's quota server, gives back what is not used or is
 * called in, and keeps its leases as large as they have to be for few statements. There is one statement at a time, for
 * all quotas together; those who come meanwhile are part of the next one.
 */
import { type Clock, sleep } from '../base/clock.js'
import { BankLine, collectClaims, type LineNeed } from './bank-line.js'
import type { QuotaGrant, QuotaRequest } from './quota.js'
import type { BankCall, BankClaim, BankReply, QuotaBank } from './quota-bank.js'
import type { QuotaNeed, QuotaSupply, SuppliedQuotas, SupplyOutcome } from './quota-supply.js'
import { TokenLeases } from './token-leases.js'

interface MachineBankPorts {
  readonly clock: Clock
  readonly bank: QuotaBank
  /** Has all machines bring in what they have answered; false when this one cannot. */
  readonly flush: () => Promise<boolean>
  readonly quotas: SuppliedQuotas
  /** From 0 to 1: spreads what many machines would else do in one moment. */
  readonly random?: () => number
}

/** How often leases are filled up, and what lies idle goes back. */
const TICK_MS = 5_000
/** How long others get to answer a call-in; a worker waits for 2 s. */
const CALL_IN_MS = 1_600
/** Asking again whether they have; it doubles. */
const ASK_AGAIN_MS = 25
const ASK_AGAIN_MOST_MS = 200
/** After a statement that has failed; it doubles as well. */
const AWAY_MS = 100
const AWAY_MOST_MS = 1_600
const PRUNE_MS = 60 * 60_000

export class MachineBank implements QuotaSupply {
  readonly #ports: MachineBankPorts
  readonly #random: () => number
  readonly #tokens: TokenLeases
  readonly #lines = new Map<string, BankLine>()
  /** Quotas that the next statement speaks of, and the call-ins that it answers of those that have no line. */
  readonly #dirty = new Map<string, number>()
  /** Lines whose leases are used up at some rate. */
  readonly #busy = new Set<BankLine>()
  /** A statement is under way, or about to be. */
  #flushing = false
  #cancelTick: () => void = () => {}
  #awayUntil = Number.NEGATIVE_INFINITY
  #awayMs = AWAY_MS
  #pruneAt: number
  /** The machine is joining again: nothing is claimed before it is known what still counts. */
  #isRejoining = false
  /** The newest epoch. */
  #joined = 0
  #closed = false

  constructor(ports: MachineBankPorts) {
    this.#ports = ports
    this.#random = ports.random ?? Math.random
    this.#tokens = new TokenLeases(ports.clock, ports.bank)
    this.#pruneAt = this.#now() + PRUNE_MS * (0.5 + this.#random())
    this.#scheduleTick()
  }

  open(name: string): BankLine {
    const line = new BankLine(name, this.#now())
    this.#lines.set(name, line)
    return line
  }

  close({ name, held }: Pick<BankLine, 'name' | 'held'>): void {
    const line = this.#lines.get(name)
    this.#lines.delete(name)
    if (line !== undefined) this.#busy.delete(line)
    // The claim of a quota without a line says that nothing is held.
    if (held > 0) this.#dirty.set(name, 0)
  }

  draw(
    { name }: BankLine,
    request: QuotaRequest,
    need: QuotaNeed,
    done: (outcome: SupplyOutcome) => void,
  ): void {
    const line = this.#lines.get(name)!
    const now = this.#now()
    line.ask(request)
    const isAway = now < this.#awayUntil || this.#isRejoining
    if (isAway || (!need.waits && now < line.shortUntil)) {
      done(isAway ? 'away' : 'short')
      return
    }
    const mustAsk = !line.isGoodUnder(request.capacity)
    line.need = { ...need, done, since: now, at: now, waitMs: ASK_AGAIN_MS, mustAsk }
    this.#busy.add(line)
    if (mustAsk) this.#askWithAll(line, line.need)
    else this.#markDirty(name)
  }

  returned({ name }: BankLine): void {
    const line = this.#lines.get(name)!
    const { need } = line
    if (need !== null && !need.mustAsk && this.#ports.quotas.unused(name) >= need.total)
      this.#finish(line, need, 'served')
  }

  overdrawn({ name }: BankLine): void {
    if (this.#ports.quotas.unused(name) < 0) this.#markDirty(name)
  }

  takeTokens(request: QuotaRequest, answer: (grant: QuotaGrant | null) => void): void {
    this.#tokens.take(request, answer)
  }

  /** The bank waits for these; hints and beats may tell of a call-in several times. */
  onCalled(calls: readonly BankCall[]): void {
    for (const { name, call } of calls) {
      const line = this.#lines.get(name)
      // An answer was lost that has granted it.
      if (line === undefined) this.#markDirty(name, call)
      else if (call > line.calledIn) this.#answer(line, call)
    }
  }

  /** All machines hear that somebody needs what is not used. */
  onCallHint(call: BankCall): void {
    const line = this.#lines.get(call.name)
    if (line !== undefined && line.held > 0) this.onCalled([call])
  }

  /** Others have given something back. */
  onAnswered(name: string): void {
    const line = this.#lines.get(name)
    if (line?.need?.waits === true && line.need.at < Number.POSITIVE_INFINITY) this.#askNow(line, line.need)
  }

  /** The machine has joined again, with the same processes: what the bank no longer knows is void. */
  onRejoined(epoch: number): void {
    this.#joined = epoch
    if (this.#isRejoining) return
    this.#isRejoining = true
    void this.#adopt()
  }

  /** Gives back all that is not used: the machine leaves. Resolves when the bank has it, or cannot be told. */
  async giveBack(): Promise<void> {
    const lines = [...this.#lines.values()].filter(({ held }) => held > 0)
    const { quotas } = this.#ports
    // Nothing is filled up any more.
    this.#cancelTick()
    this.#busy.clear()
    await Promise.all(lines.map(({ name }) => new Promise<void>((resolve) => quotas.recall(name, resolve))))
    for (const line of lines) {
      line.returning = true
      this.#dirty.set(line.name, 0)
    }
    for (let good = true; good && this.#dirty.size > 0; ) good = await this.#exchange()
  }

  shutDown(): void {
    this.#closed = true
    this.#cancelTick()
  }

  #now(): number {
    return this.#ports.clock.monotonicMs()
  }

  async #adopt(): Promise<void> {
    for (let adopted = 0; adopted !== this.#joined && !this.#closed; ) {
      const epoch = this.#joined
      try {
        const kept = new Set(await this.#ports.bank.adopt(epoch))
        for (const line of this.#lines.values()) {
          if (line.held > 0 && !kept.has(line.name)) this.#void(line)
        }
        adopted = epoch
      } catch {
        // Claims under an epoch that nothing was adopted into would be those of a machine that holds nothing.
        await sleep(AWAY_MS * (0.5 + this.#random()), this.#ports.clock)
      }
    }
    this.#isRejoining = false
    this.#flushSoon()
  }

  #answer(line: BankLine, call: number): void {
    line.calledIn = call
    this.#ports.quotas.recall(line.name, () => {
      line.answered = call
      line.returning = true
      this.#markDirty(line.name)
    })
  }

  #void(line: BankLine): void {
    line.forget()
    this.#ports.quotas.voided(line.name)
  }

  #finish(line: BankLine, need: LineNeed, outcome: SupplyOutcome): void {
    line.need = null
    need.done(outcome)
  }

  #markDirty(name: string, call = 0): void {
    this.#dirty.set(name, call)
    this.#flushSoon()
  }

  /** In the turn after this one, so that all who ask in one turn are part of one statement. */
  #flushSoon(): void {
    if (this.#flushing || this.#isRejoining || this.#closed || this.#dirty.size === 0) return
    this.#flushing = true
    void Promise.resolve().then(async () => {
      const good = await this.#exchange()
      this.#flushing = false
      if (good) this.#flushSoon()
      else this.#ports.clock.runAfter(this.#awayUntil - this.#now(), () => this.#flushSoon())
    })
  }

  /** One statement. False when the bank cannot be told. */
  async #exchange(): Promise<boolean> {
    const sentAt = this.#now()
    const claims = collectClaims(this.#dirty, this.#lines, this.#busy, (line) => this.#claim(line, sentAt))
    if (claims.length === 0) return true
    const asking = claims.filter(({ wanted }) => wanted > 0)
    const needs = new Map(asking.map(({ name }) => [name, this.#lines.get(name)?.need ?? null]))
    const replies = await this.#ports.bank.exchange(claims).catch(() => null)
    if (replies === null) {
      this.#goAway(claims)
      return false
    }
    this.#awayMs = AWAY_MS
    for (const reply of replies) this.#accept(reply, needs.get(reply.name) ?? null, sentAt)
    return true
  }

  #claim(line: BankLine, now: number): BankClaim {
    return line.claim(this.#ports.quotas.unused(line.name), now)
  }

  #accept(reply: BankReply, need: LineNeed | null, sentAt: number): void {
    const line = this.#lines.get(reply.name)
    if (line === undefined) return
    if (reply.state === 'stale' || reply.state === 'void') {
      if (reply.state === 'void') this.#void(line)
      this.#markDirty(reply.name)
      return
    }
    const isNew = line.accept(reply)
    if (need?.mustAsk === true && need === line.need) {
      need.mustAsk = false
      line.wasChecked()
    }
    if (line.windowMs > 0) this.#ports.quotas.windowIs(line.name, sentAt + reply.endsInMs, isNew)
    // Those who waited may have been served meanwhile by what has come back, and others may wait now.
    if (need === null || need !== line.need) return
    const now = this.#now()
    if (reply.state === 'flush') void this.#flushAll(line, need, reply.version ?? 0)
    else if (reply.state === 'ok') {
      line.wasServed()
      this.#finish(line, need, 'served')
    } else if (reply.state === 'short') {
      line.ranShort(now)
      this.#finish(line, need, 'short')
    } else if (!need.waits) this.#finish(line, need, 'called')
    else if (now - need.since >= CALL_IN_MS) this.#finish(line, need, line.isMoney ? 'away' : 'short')
    else this.#askAgain(line, need, now)
  }

  /** What was leased under another limit may be more than there is now: all that is not used goes back first. */
  #askWithAll(line: BankLine, need: LineNeed): void {
    need.at = Number.POSITIVE_INFINITY
    this.#ports.quotas.recall(line.name, () => {
      line.returning = true
      this.#askNow(line, need)
    })
  }

  /** The limit was set or changed just now: calls may have been answered without it that the bank does not know of. */
  async #flushAll(line: BankLine, need: LineNeed, version: number): Promise<void> {
    need.at = Number.POSITIVE_INFINITY
    const isDone = await this.#ports.flush().catch(() => false)
    if (line.need !== need) return
    if (!isDone) return this.#finish(line, need, 'away')
    line.flushed = version
    this.#askNow(line, need)
  }

  #askNow(line: BankLine, need: LineNeed): void {
    need.at = this.#now()
    this.#markDirty(line.name)
  }

  #askAgain(line: BankLine, need: LineNeed, now: number): void {
    need.at = now + need.waitMs
    const { waitMs } = need
    need.waitMs = Math.min(ASK_AGAIN_MOST_MS, waitMs * 2)
    this.#ports.clock.runAfter(waitMs, () => {
      if (line.need !== need) return
      // A timer may fire a little early.
      need.at = Math.min(need.at, this.#now())
      this.#markDirty(line.name)
    })
  }

  /** Nobody waits for a bank that is away; what it was told is said again. */
  #goAway(claims: readonly BankClaim[]): void {
    this.#awayUntil = this.#now() + this.#awayMs * (0.5 + this.#random())
    this.#awayMs = Math.min(AWAY_MOST_MS, this.#awayMs * 2)
    for (const { name, answered } of claims) {
      this.#dirty.set(name, answered)
      const line = this.#lines.get(name)
      line?.unsent(answered)
      if (line?.need != null) this.#finish(line, line.need, 'away')
    }
  }

  #scheduleTick(): void {
    this.#cancelTick = this.#ports.clock.runAfter(TICK_MS * (0.75 + this.#random() / 2), () => this.#tick())
  }

  #tick(): void {
    if (this.#closed) return
    const now = this.#now()
    for (const line of this.#busy) {
      line.observe(this.#ports.quotas.unused(line.name), now)
      if (line.need !== null) continue
      if (line.target === 0) this.#putToRest(line)
      else if (line.isLow(this.#ports.quotas.unused(line.name))) this.#dirty.set(line.name, 0)
    }
    this.#flushSoon()
    if (now >= this.#pruneAt) {
      this.#pruneAt = now + PRUNE_MS * (0.5 + this.#random())
      // What is left standing is removed another time.
      this.#ports.bank.prune().catch(() => {})
    }
    this.#scheduleTick()
  }

  /** Nobody uses it: others may. */
  #putToRest(line: BankLine): void {
    this.#busy.delete(line)
    this.#ports.quotas.recall(line.name, () => {
      line.returning = true
      this.#markDirty(line.name)
    })
  }
}
