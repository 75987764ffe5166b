/** Credits: what the organization may spend, what it has spent, and for the operator a way to add some. */
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { numberIn } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Note } from '../../kit/note.tsx'
import { Figures, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Id, Money, moneyText, Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { may, session } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { CREDITS, type CreditsAnswer, type CreditsChange, HISTORY } from './wire.ts'

const COLUMNS: readonly Column<CreditsChange>[] = [
  {
    title: 'Time',
    cell: ({ changed_at }) => (
      <span class="when">
        <Time at={changed_at} />
      </span>
    ),
  },
  {
    title: 'Change',
    align: 'end',
    cell: ({ change }) => (change === null ? 'Set' : <Money dollars={change} />),
  },
  {
    title: 'Total',
    align: 'end',
    cell: ({ total_credits }) => (total_credits === null ? 'Unlimited' : <Money dollars={total_credits} />),
  },
  { title: 'By', from: 'medium', cell: ({ changed_by }) => <Id id={changed_by} /> },
]

export function Screen() {
  const { data, problem, reload } = useResource<CreditsAnswer>(CREDITS)
  const history = useResource<{ readonly data: readonly CreditsChange[] }>(HISTORY)
  const added = () => {
    reload()
    history.reload()
  }
  return (
    <Page
      title="Credits"
      lead="A call is refused with 402 when what it may cost is more than what is left: of these credits, or of the limit of its key."
    >
      <ProblemNote problem={problem} retry={reload} />
      <Balance of={data} />
      {may('operator') ? <AddCredits added={added} /> : <HowToAdd />}
      <Section title="History" lead="The last 50 changes of the credits; what was spent is in the usage.">
        <ProblemNote problem={history.problem} retry={history.reload} />
        <Table
          caption="History"
          columns={COLUMNS}
          rows={history.data?.data}
          keyOf={({ changed_at, total_credits }) => `${changed_at} ${total_credits}`}
          empty={<p class="soft">The credits have not been changed.</p>}
        />
      </Section>
    </Page>
  )
}

function Balance({ of }: { of: CreditsAnswer | undefined }) {
  if (of === undefined) {
    const waiting = <span class="skeleton" />
    return <Figures rows={{ Left: waiting, Spent: waiting, 'Ever added': waiting }} />
  }
  const { total_credits, total_usage, unlimited } = of.data
  const left = Math.max(0, total_credits - total_usage)
  if (unlimited) {
    return (
      <Figures
        rows={{
          Left: 'Unlimited',
          Spent: <Spent dollars={total_usage} />,
          'Ever added': 'None',
        }}
      />
    )
  }
  return (
    <Figures
      rows={{
        Left: <Money dollars={left} />,
        Spent: <Spent dollars={total_usage} />,
        'Ever added': <Money dollars={total_credits} />,
      }}
    />
  )
}

/** Leads to what was spent when. */
function Spent({ dollars }: { dollars: number }) {
  return (
    <a class="quiet" href={to('usage', null, { by: 'time' })}>
      <Money dollars={dollars} />
    </a>
  )
}

function AddCredits({ added }: { added: () => void }) {
  const send = (fields: FormData) => {
    const organization = textIn(fields, 'organization')
    return call<CreditsAnswer>('POST', CREDITS, {
      body: {
        amount: numberIn(fields, 'amount'),
        ...(organization !== '' && { organization_id: organization }),
      },
    })
  }
  return (
    <Section
      title="Add credits"
      lead="An organization without credits may spend without an end. The first ones limit it, and what it has spent before counts: with fewer its calls are refused at once."
    >
      <Form
        submit="Add"
        send={send}
        done={({ data }) => {
          tell(`Credits added: $${moneyText(data.total_credits)} in all`)
          added()
        }}
      >
        <div class="fields">
          <Field label="Dollars" name="amount" type="number" min="0" step="any" unit="$" />
          <Field
            label="Organization"
            name="organization"
            placeholder={session.value!.organization.id}
            hint="An id; your own when empty."
            isOptional
          />
        </div>
      </Form>
    </Section>
  )
}

function HowToAdd() {
  return (
    <Section title="Add credits">
      <Note is="attention">The operator of this server adds credits, with this id of your organization:</Note>
      <Code text={session.value!.organization.id} label="Copy the id" />
    </Section>
  )
}
