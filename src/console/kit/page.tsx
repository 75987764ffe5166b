/** What every screen is built of: its head, sections, facts, and what stands where nothing is. */
import type { ComponentChildren } from 'preact'
import type { Problem } from '../api/call.ts'
import { Icon } from './icon.tsx'
import { Code } from './values.tsx'

interface PageProps {
  readonly title: ComponentChildren
  /** Beside the title: states, an id. */
  readonly beside?: ComponentChildren
  /** One sentence beneath the title. */
  readonly lead?: ComponentChildren
  /** The way back up, where it is the page of a record. */
  readonly up?: { readonly href: string; readonly title: string }
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A screen: its title takes the focus when it opens, so that keyboards and screen readers begin there. */
export function Page({ title, beside, lead, up, actions, children }: PageProps) {
  return (
    <div class="page">
      <header class="page-head">
        {up && (
          <a class="up" href={up.href}>
            {up.title}
          </a>
        )}
        <div class="page-title">
          <h1 tabIndex={-1}>{title}</h1>
          {beside}
          {actions && <div class="actions">{actions}</div>}
        </div>
        {lead && <p class="lead">{lead}</p>}
      </header>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A part of a screen, with a ground of its own. */
export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {lead && <p class="soft">{lead}</p>}
      {children}
    </section>
  )
}

/** Names and values of a record; rows without a value are left out. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Large figures side by side. */
export function Figures({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="figures">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  /** A command that works as it stands. */
  readonly command?: string
}

/** What stands where nothing is yet. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p class="soft">{children}</p>}
      {command !== undefined && <Code text={command} label="Copy the command" />}
    </div>
  )
}

/** Why something could not be shown, in the server's words. */
export function ProblemNote({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <Icon name="bad" />
      <div>
        <p>{problem.message}</p>
        {problem.requestId !== '' && <p class="soft small">Request {problem.requestId}</p>}
      </div>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Something to know before going on. */
export function Note({ is, children }: { is: 'good' | 'attention' | 'bad'; children: ComponentChildren }) {
  return (
    <div class={`note ${is}`}>
      <Icon name={is} />
      <div>{children}</div>
    </div>
  )
}
