/** A turn of the conversation: text as it came, and of an answer what it took. */
import { useState } from 'preact/hooks'
import { Icon } from '../../kit/icon.tsx'
import { Count, Money, State } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import type { Told, Turn } from './conversation.ts'
import type { ToolRun } from './formats.ts'
import { Made } from './made.tsx'
import { Phases } from './phases.tsx'

interface TurnViewProps {
  readonly of: Turn
  /** Its place in the conversation, from 1. */
  readonly place: number
}

export function TurnView({ of: { role, text, files, told }, place }: TurnViewProps) {
  return (
    <li class={`turn ${role}`}>
      <h2>{role === 'user' ? 'You' : 'Model'}</h2>
      {/* Above the text, which grows: what stands below it would move with every word. */}
      {told !== undefined && told.state !== 'waiting' && <Figures of={told} />}
      {told !== undefined && told.events > 0 && <Events of={told} place={place} />}
      {told !== undefined && told.thinking !== '' && (
        <details>
          <summary>Thinking</summary>
          <p class="said soft">{told.thinking}</p>
        </details>
      )}
      {told !== undefined && told.tools.length > 0 && <Tools of={told.tools} />}
      {text !== '' && <p class="said">{text}</p>}
      {files?.map(({ name }, n) => (
        <p key={n} class="attached small">
          <Icon name="file" /> {name}
        </p>
      ))}
      {told?.pictures.map((url, n) => (
        <img key={n} class="picture" src={url} alt={`${n + 1} of what the answer shows`} />
      ))}
      {told?.spoken && (
        // biome-ignore lint/a11y/useMediaCaption: what is spoken stands above it as it was written
        <audio controls src={told.spoken} />
      )}
      {told !== undefined && told.sources.size > 0 && <Sources of={told.sources} />}
      {/* Their row is there when the answer is over. */}
      {told?.id &&
        told.totalMs !== null &&
        [...told.made].map((id) => <Made key={id} id={id} by={told.id!} />)}
      {told?.state === 'waiting' && <span class="skeleton" />}
      {told?.problem && (
        <p class="form-problem" role="alert">
          <Icon name="bad" /> {told.problem}
        </p>
      )}
    </li>
  )
}

const STATES = { started: 'attention', completed: 'good', failed: 'bad' } as const
const WORDS = { started: 'runs', completed: 'done', failed: 'failed' } as const

function Tools({ of }: { of: readonly ToolRun[] }) {
  return (
    <ul class="tool-runs small" aria-label="Tools">
      {of.map(({ id, name, state }) => (
        <li key={id}>
          <code>{name}</code> <State is={STATES[state]}>{WORDS[state]}</State>
        </li>
      ))}
    </ul>
  )
}

/** Titles and addresses are the words of strangers: nothing becomes a link but an address of the web. */
function Sources({ of }: { of: Told['sources'] }) {
  return (
    <ol class="sources small" aria-label="Sources">
      {[...of].map(([address, title]) => (
        <li key={address}>
          {/^https?:\/\//i.test(address) ? (
            <a href={address} target="_blank" rel="noreferrer">
              {title}
            </a>
          ) : (
            title
          )}
          {title !== address && <span class="soft"> {address}</span>}
        </li>
      ))}
    </ol>
  )
}

/** They are made into a text only while somebody looks. */
function Events({ of: { raw, events, id, state }, place }: { of: Told; place: number }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="events small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {/* The number stands last: as it grows, nothing moves. */}
        Events and where the time went <Count value={events} />
      </summary>
      {isOpen && id !== null && state !== 'streaming' && <Phases id={id} />}
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
        <section tabIndex={0} aria-label={`Events of turn ${place}`}>
          <pre>
            {raw.join('\n')}
            {events > raw.length && `\n… and ${events - raw.length} more`}
          </pre>
        </section>
      )}
    </details>
  )
}

/** In the order in which they come: one that was inserted would move those behind it. */
function Figures({ of }: { of: Told }) {
  const { id, state, firstMs, totalMs, finish, usage } = of
  const isOver = state !== 'streaming'
  return (
    <p class="took soft small">
      {firstMs !== null && (
        <span>
          first <Count value={Math.round(firstMs)} unit="ms" />
        </span>
      )}
      {usage === null && of.about > 0 && (
        <span>
          about <Money dollars={of.about} />
        </span>
      )}
      {usage !== null && (
        <>
          {usage.prompt_tokens > 0 && (
            <span>
              <Count value={usage.prompt_tokens} /> in, <Count value={usage.completion_tokens} unit="out" />
            </span>
          )}
          {usage.cost !== undefined && <Money dollars={usage.cost} />}
        </>
      )}
      {totalMs !== null && (
        <span>
          whole <Count value={Math.round(totalMs)} unit="ms" />
        </span>
      )}
      {state === 'stopped' && <State is="attention">stopped</State>}
      {isOver && finish !== null && finish !== 'stop' && finish !== 'end_turn' && (
        <span>ended by {finish}</span>
      )}
      {isOver && id !== null && <a href={to('generations', id)}>Its row</a>}
    </p>
  )
}
