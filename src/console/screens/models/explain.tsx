/** Where a request would go: its candidates in order of trial, those that are left out, and what would change that. */
import { useEffect, useState } from 'preact/hooks'
import { call, type Problem } from '../../api/call.ts'
import { Code } from '../../kit/code.tsx'
import { ProblemNote, Section } from '../../kit/page.tsx'
import { Money, State } from '../../kit/values.tsx'
import { place, setQuery } from '../../shell/location.ts'
import { type Change, EXPLAIN, type Excluded, type Explanation, type Planned } from './wire.ts'
import { patched, Wishes, wishesIn } from './wishes.tsx'

type Wish = Readonly<Record<string, unknown>>

/** The request stands in the address, so that a plan can be shown to somebody else. */
export function Explain({ model, isText }: { model: string; isText: boolean }) {
  const asked = place.value.query.get('ask')
  const plain: Wish = { model, ...(isText && { messages: [] }) }
  const request = wishesIn(asked) ?? plain
  const [plan, setPlan] = useState<Explanation | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const body = JSON.stringify(request)
  useEffect(() => {
    const leaving = new AbortController()
    const options = { body: JSON.parse(body), signal: leaving.signal }
    void call<{ data: Explanation }>('POST', EXPLAIN, options).then((outcome) => {
      setProblem(outcome.ok ? null : outcome.problem)
      setPlan((before) => (outcome.ok ? outcome.data.data : before))
    })
    return () => leaving.abort()
  }, [body])
  const ask = (wanted: Wish): void => setQuery({ ask: JSON.stringify(wanted) })
  const change = (patch: Wish): void => ask(patched(request, patch))
  return (
    <Section
      title="Where would a request go?"
      lead="The plan as the server would make it now, without calling anybody. Each change that is offered was planned before."
      actions={
        asked !== null && (
          <button type="button" onClick={() => setQuery({ ask: null })}>
            Begin anew
          </button>
        )
      }
    >
      <div class="explain">
        <Wishes key={body} request={request} ask={ask} />
        <div class="stack">
          <ProblemNote problem={problem} />
          {plan && problem === null && <Candidates plan={plan} change={change} />}
          {(plan ?? problem) && <Code text={JSON.stringify(request, null, 2)} label="Copy the request" />}
        </div>
      </div>
    </Section>
  )
}

interface Changing {
  readonly change: (patch: Wish) => void
}

function Candidates({ plan: { endpoints, excluded, total }, change }: { plan: Explanation } & Changing) {
  return (
    <div class="stack" aria-live="polite">
      <p class="soft">
        {endpoints.length} of {total} endpoints, in order of trial
        {endpoints.some(({ probability }) => probability !== null) && '; the first is drawn for each call'}
      </p>
      <ol class="candidates">
        {endpoints.map((each) => (
          <PlannedCard key={each.position} of={each} change={change} />
        ))}
      </ol>
      {excluded.length > 0 && (
        <>
          <h3>Left out</h3>
          <ul class="candidates left-out">
            {excluded.map((each, at) => (
              <ExcludedCard key={at} of={each} change={change} />
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

const STATES = { closed: 'good', 'half-open': 'attention', cooling: 'attention', open: 'bad' } as const

function PlannedCard({ of, change }: { of: Planned } & Changing) {
  const { position, provider, model, tag, state, price, probability, latency_ms, is_byok, why } = of
  return (
    <li class={position === 1 ? 'first' : undefined}>
      <span class="place" aria-hidden="true">
        {position}
      </span>
      <div class="candidate">
        <div class="candidate-head">
          <strong>{provider}</strong>
          <code class="soft">{`${model} at ${tag}`}</code>
          {state !== 'closed' && <State is={STATES[state]}>{`breaker ${state}`}</State>}
          {is_byok && <State is="quiet">own key</State>}
          <span class="figure">
            <Money dollars={price} />
            <span class="unit"> per million in and out</span>
          </span>
        </div>
        {probability !== null && <Chance of={probability} />}
        <p class="soft small">
          {[...why, ...(latency_ms === null ? [] : [`first event after ${Math.round(latency_ms)} ms`])].join(
            '; ',
          )}
        </p>
        <Changes
          of={of.would_change}
          to={position === 1 ? 'Would lose its place if' : 'Would be tried first if'}
          change={change}
        />
      </div>
    </li>
  )
}

function ExcludedCard({ of, change }: { of: Excluded } & Changing) {
  return (
    <li>
      <div class="candidate">
        <div class="candidate-head">
          <strong>{of.provider}</strong>
          <code class="soft">{`${of.model} at ${of.tag}`}</code>
          <State is="quiet">{of.why}</State>
        </div>
        <Changes of={of.would_change} to="Would be there if" change={change} />
      </div>
    </li>
  )
}

function Chance({ of }: { of: number }) {
  const percent = of >= 0.1 ? Math.round(of * 100) : Math.round(of * 1000) / 10
  return (
    <span class="chance">
      <svg class="time-bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="ground" width="1000" height="10" />
        <rect width={of * 1000} height="10" />
      </svg>
      <span class="figure">
        {percent}
        <span class="unit"> % of calls begin here</span>
      </span>
    </span>
  )
}

function Changes({ of, to, change }: { of: readonly Change[]; to: string } & Changing) {
  if (of.length === 0) return null
  return (
    <details class="changes">
      <summary>{to} …</summary>
      <ul>
        {of.map(({ says, request: patch }) => (
          <li key={says} class="change">
            <span>{says}</span>
            {patch !== null && (
              <button type="button" onClick={() => change(patch)}>
                Try it
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}
