/** A turn of the conversation: text as it came, and of an answer what it took. */
import { Icon } from '../../kit/icon.tsx'
import { Count, Money, State } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import type { Told, Turn } from './conversation.ts'

export function TurnView({ of: { role, text, told } }: { of: Turn }) {
  return (
    <li class={`turn ${role}`}>
      <h2>{role === 'user' ? 'You' : 'Model'}</h2>
      {told !== undefined && told.thinking !== '' && (
        <details open={text === ''}>
          <summary>Thinking</summary>
          <p class="said soft">{told.thinking}</p>
        </details>
      )}
      {text !== '' && <p class="said">{text}</p>}
      {told?.state === 'waiting' && <span class="skeleton" />}
      {told?.problem && (
        <p class="form-problem" role="alert">
          <Icon name="bad" /> {told.problem}
        </p>
      )}
      {told !== undefined && told.state !== 'waiting' && <Figures of={told} />}
    </li>
  )
}

function Figures({ of }: { of: Told }) {
  const { id, state, firstMs, totalMs, finish, usage } = of
  return (
    <p class="took soft small">
      {state === 'stopped' && <State is="attention">stopped</State>}
      {finish !== null && finish !== 'stop' && <span>ended by {finish}</span>}
      {firstMs !== null && (
        <span>
          first <Count value={Math.round(firstMs)} unit="ms" />
        </span>
      )}
      {totalMs !== null && (
        <span>
          whole <Count value={Math.round(totalMs)} unit="ms" />
        </span>
      )}
      {usage !== null && (
        <>
          <span>
            <Count value={usage.prompt_tokens} /> in, <Count value={usage.completion_tokens} unit="out" />
          </span>
          {usage.cost !== undefined && <Money dollars={usage.cost} />}
        </>
      )}
      {id !== null && state !== 'streaming' && <a href={to('generations', id)}>Its row</a>}
    </p>
  )
}
