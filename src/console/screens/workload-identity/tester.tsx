/** The policy tester: what each step of an exchange makes of a token, and what would make its condition true. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { TextArea } from '../../kit/fields.tsx'
import { Form, textIn } from '../../kit/form.tsx'
import { Note } from '../../kit/note.tsx'
import { Section } from '../../kit/page.tsx'
import { State } from '../../kit/values.tsx'
import { type ConditionPart, type PolicyTest, policyPath, type TestedStep } from './wire.ts'

export function Tester({ id }: { id: string }) {
  const [test, setTest] = useState<PolicyTest | null>(null)
  return (
    <Section
      title="Test a token"
      lead="Each step of an exchange. The token is neither kept nor logged, and nothing is issued."
    >
      <Form
        submit="Test"
        send={(fields) =>
          call<{ data: PolicyTest }>('POST', `${policyPath(id)}/test`, {
            body: { subject_token: textIn(fields, 'token') },
          })
        }
        done={({ data }) => setTest(data)}
      >
        <TextArea label="Token" name="token" rows={4} maxLength={65_536} placeholder="eyJ…" />
      </Form>
      {test && <Result of={test} />}
    </Section>
  )
}

function Result({ of: { passed, steps, condition, would_pass_if } }: { of: PolicyTest }) {
  return (
    <div class="test-result" role="status">
      <Note is={passed ? 'good' : 'bad'}>
        {passed ? 'An exchange would give a token.' : 'An exchange would be refused.'}
      </Note>
      <ol class="test-steps">
        {steps.map((step) => (
          <Step key={step.step} of={step} />
        ))}
      </ol>
      {condition && (
        <>
          <h3>The condition</h3>
          <ul class="condition-tree">
            <Part of={condition} />
          </ul>
        </>
      )}
      {would_pass_if.length > 0 && (
        <>
          <h3>It would be true, all else as it is, if</h3>
          <ul class="would-pass">
            {would_pass_if.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

const LAMPS = { passed: 'good', failed: 'bad', skipped: 'quiet' } as const

/** What went well is folded. */
function Step({ of: { step, outcome, reason, saw, wanted } }: { of: TestedStep }) {
  const about = (
    <>
      <Shown title="saw" of={saw} />
      {outcome === 'failed' && <Shown title="wanted" of={wanted} />}
    </>
  )
  return (
    <li>
      <State is={LAMPS[outcome]}>{outcome}</State>
      <div class="tested">
        {outcome === 'passed' && saw !== null ? (
          <details>
            <summary>
              <strong>{step}</strong>
            </summary>
            {about}
          </details>
        ) : (
          <strong>{step}</strong>
        )}
        {reason !== null && <p>{reason}</p>}
        {outcome === 'failed' && about}
      </div>
    </li>
  )
}

function Shown({ title, of }: { title: string; of: TestedStep['saw'] }) {
  if (of === null) return null
  return (
    <dl class="shown" aria-label={title}>
      {Object.entries(of).map(([name, value]) => (
        <div key={name} class="shown-member">
          <dt>
            {title} {name}
          </dt>
          <dd>
            <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Literals say nothing beyond their own text. */
function Part({ of: { text, type, value, error, children } }: { of: ConditionPart }) {
  const shown = children.filter(({ kind }) => kind !== 'literal')
  return (
    <li>
      <span class="part">
        <code>{text}</code>
        {type === 'bool' && error === null ? (
          <State is={value === 'true' ? 'good' : 'bad'}>{value ?? ''}</State>
        ) : (
          <code class={error === null ? 'soft' : 'rule-bad'}>{error ?? value}</code>
        )}
      </span>
      {shown.length > 0 && (
        <ul>
          {shown.map((part, at) => (
            <Part key={at} of={part} />
          ))}
        </ul>
      )}
    </li>
  )
}
