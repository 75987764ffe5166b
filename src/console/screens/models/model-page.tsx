/** One model: who serves it, side by side, and where a request for it would go. */
import { useResource } from '../../api/resource.ts'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Count, Id, Money, State } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { may } from '../../shell/session.ts'
import { Explain } from './explain.tsx'
import { PromptPrice } from './prices.tsx'
import { type Endpoint, endpointsPath, type ModelWithEndpoints, perMillion } from './wire.ts'

const UP = { href: to('models'), title: 'Models and routing' }

export function ModelPage({ id }: { id: string }) {
  const { data, problem, reload } = useResource<{ data: ModelWithEndpoints }>(endpointsPath(id))
  const model = data?.data
  if (model === undefined) {
    return (
      <Page title={id} up={UP}>
        <ProblemNote problem={problem} retry={reload} />
      </Page>
    )
  }
  const { input_modalities: takes, output_modalities: gives } = model.architecture
  return (
    <Page
      title={model.name}
      up={UP}
      beside={<Id id={model.id} />}
      lead={model.description || `Takes ${takes.join(', ')}, gives ${gives.join(', ')}.`}
      actions={
        <button type="button" onClick={reload}>
          Look again
        </button>
      }
    >
      <Section
        title="Endpoints"
        lead="Figures of the worker that has answered; they fade with a half-life of ten minutes."
      >
        <Table
          caption="Endpoints"
          columns={COLUMNS}
          rows={model.endpoints}
          keyOf={({ provider_name, tag }) => `${provider_name} ${tag} ${model.endpoints.length}`}
          empty={null}
        />
      </Section>
      {may('management') && <Explain model={id} isText={gives.includes('text')} />}
    </Page>
  )
}

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    title: 'Provider',
    cell: ({ provider_name, tag }) => (
      <span class="two-lines">
        {provider_name}
        <code class="soft">{tag}</code>
      </span>
    ),
  },
  {
    title: 'Health',
    cell: ({ status }) =>
      status === 0 ? <State is="good">serving</State> : <State is="bad">breaker open</State>,
  },
  {
    title: 'Answered',
    align: 'end',
    from: 'medium',
    cell: ({ uptime_last_30m: percent }) => (percent === null ? <None /> : <Figure of={percent} unit="%" />),
  },
  {
    title: 'First event, p50',
    align: 'end',
    from: 'medium',
    cell: ({ latency_last_30m: ms }) => (ms === null ? <None /> : <Figure of={ms.p50} unit="ms" />),
  },
  {
    title: 'p99',
    align: 'end',
    from: 'wide',
    cell: ({ latency_last_30m: ms }) => (ms === null ? <None /> : <Figure of={ms.p99} unit="ms" />),
  },
  {
    title: 'Tokens a second',
    align: 'end',
    from: 'wide',
    cell: ({ throughput_last_30m: speed }) => (speed === null ? <None /> : <Figure of={speed.p50} />),
  },
  {
    title: 'Context',
    align: 'end',
    from: 'wide',
    cell: ({ context_length }) => (context_length === 0 ? <None /> : <Count value={context_length} />),
  },
  {
    title: 'In, per million',
    align: 'end',
    cell: ({ pricing }) => <PromptPrice of={pricing} />,
  },
  {
    title: 'Out',
    align: 'end',
    from: 'medium',
    cell: ({ pricing }) => <Money dollars={perMillion(pricing.completion)} />,
  },
]

function Figure({ of, unit }: { of: number; unit?: string }) {
  return <Count value={of < 10 ? Math.round(of * 10) / 10 : Math.round(of)} {...(unit && { unit })} />
}

function None() {
  return <span class="soft">–</span>
}
