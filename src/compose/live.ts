/** The live feed in a worker: what it counts for the supervisor, and the readers whose connections it holds. */
import { Fault } from '../base/fault.js'
import { PendingReplies } from '../base/pending-replies.js'
import { encodeSummary } from '../features/generation/summary.js'
import { LiveReaders } from '../features/live/readers.js'
import type { LiveMessageToWorker } from '../process/ipc/messages.js'
import type { AccountStore } from '../store/account-store.js'
import { generationTime } from '../store/ledger/generation-time.js'
import type { LiveRefusal } from '../telemetry/live/live-report.js'
import { LiveTap } from '../telemetry/live/live-tap.js'
import { WorkerFigures } from '../telemetry/live/worker-figures.js'
import type { WorkerContext } from './worker-context.js'

interface LiveOptions extends Pick<WorkerContext, 'clock' | 'sendToSupervisor'> {
  readonly accounts: Pick<AccountStore, 'key'>
  readonly figures: ConstructorParameters<typeof WorkerFigures>[0]
}

/** A supervisor that answers later than this is busy or gone. */
const ENTER_MS = 2_000

export function composeLive({ clock, sendToSupervisor, accounts, figures }: LiveOptions) {
  const entries = new PendingReplies<LiveRefusal | 'taken'>(clock, { takesLate: true })
  const tap = new LiveTap({
    encode: (row) => {
      const createdAt = generationTime(row.id) ?? 0
      return JSON.stringify(encodeSummary({ ...row, createdAt }, accounts.key(row.keyHash)?.name ?? null))
    },
    ownerOf: (keyHash) => accounts.key(keyHash)?.creatorUserId ?? null,
    machine: new WorkerFigures(figures),
  })
  const leave = (scope: string, caller: string): void =>
    void sendToSupervisor({ type: 'leave-live', scope, caller })
  const readers = new LiveReaders({
    enter: (scope, caller) =>
      new Promise((resolve, reject) => {
        const send = (id: number): boolean => sendToSupervisor({ type: 'enter-live', id, scope, caller })
        entries.ask(ENTER_MS, send, (reply, late) => {
          if (late) {
            if (reply === 'taken') leave(scope, caller)
          } else if (reply === null) {
            reject(new Fault('unavailable', { retryAfter: 1, detail: 'the supervisor does not answer' }))
          } else resolve(reply === 'taken' ? null : reply)
        })
      }),
    leave,
  })
  return {
    tap,
    readers,
    onMessage: (message: LiveMessageToWorker): void => {
      if (message.type === 'watch-live')
        sendToSupervisor({ type: 'live-report', report: tap.report(message.scopes) })
      else if (message.type === 'rest-live') tap.rest()
      else if (message.type === 'live-frames') readers.deliver(message.frames)
      else entries.receive(message.id, message.refusal ?? 'taken')
    },
  }
}
