/** Short news of what was done, told to screen readers as well; they go by themselves, failures stay. */
import { signal } from '@preact/signals'
import { observers, type Problem } from '../api/call.ts'
import { Icon } from '../kit/icon.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly state: 'good' | 'attention' | 'bad'
  /** Takes back what was done. */
  readonly undo?: () => void
}

const SHOWN_MS = 6_000
const toasts = signal<readonly Toast[]>([])
let lastId = 0

observers.unconfirmed = (machines) =>
  show(`Done, and not yet confirmed by ${machines.join(', ')}`, 'attention')

/** Tells that something was done; `undo` takes it back. */
export function tell(text: string, undo?: () => void): void {
  const id = show(text, 'good', undo)
  setTimeout(() => dismiss(id), SHOWN_MS)
}

/** Tells why something was not done. */
export function tellProblem({ message }: Problem): void {
  show(message, 'bad')
}

function show(text: string, state: Toast['state'], undo?: () => void): number {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-3), { id, text, state, ...(undo && { undo }) }]
  return id
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, state, undo }) => (
        <div key={id} class={`toast ${state}`}>
          <Icon name={state} />
          <span>{text}</span>
          {undo && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                dismiss(id)
                undo()
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="plain icon-only" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
