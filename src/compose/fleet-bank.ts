/** The bank of all machines, as the quota server of one machine draws from it. */
import { systemClock } from '../base/clock.js'
import { MachineBank } from '../limits/machine-bank.js'
import type { QuotaBank } from '../limits/quota-bank.js'
import type { QuotaSupply, SuppliedQuotas } from '../limits/quota-supply.js'
import { type BankMember, openBank, parseCall } from '../store/postgres/bank.js'
import type { Database } from '../store/postgres/database.js'

/** What the bank of a machine is told and asked; it draws from that of the fleet. */
export interface FleetBankHooks {
  /** With every confirmed beat: quotas whose leases other machines ask back. */
  onCalled(called: readonly string[]): void
  /** A hint of another machine, `called …` or `answered …`. */
  onHint(payload: string): void
  /** The machine's leases are those of another epoch from now on. */
  onRejoined(former: number, epoch: number): void
  /** Gives back all that it holds, before it leaves. */
  giveBack(): Promise<void>
}

export interface FleetBank extends Pick<QuotaBank, 'retire' | 'freeEarlier'> {
  readonly supply: QuotaSupply
  readonly hooks: FleetBankHooks
}

interface FleetBankOptions {
  readonly database: Database
  readonly member: BankMember
  /** Has all machines bring in what they have answered; false when this one cannot. */
  readonly flush: () => Promise<boolean>
  readonly quotas: SuppliedQuotas
}

export function openFleetBank({ database, member, flush, quotas }: FleetBankOptions): FleetBank {
  const bank = openBank(database, member)
  const machine = new MachineBank({ clock: systemClock, bank, flush, quotas })
  return {
    supply: machine,
    hooks: {
      onCalled: (called) => machine.onCalled(called.map(parseCall)),
      onHint: (payload) => {
        const [, word, rest = ''] = /^(\w+) (.*)$/s.exec(payload) ?? []
        if (word === 'called') machine.onCallHint(parseCall(rest))
        else if (word === 'answered') machine.onAnswered(rest)
      },
      onRejoined: (_former, epoch) => machine.onRejoined(epoch),
      giveBack: async () => {
        await machine.giveBack()
        machine.shutDown()
      },
    },
    retire: () => bank.retire(),
    freeEarlier: () => bank.freeEarlier(),
  }
}
