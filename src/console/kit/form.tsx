/** Forms: fields with their labels, hints and faults, and what sends them. */
import type { ComponentChildren, TargetedEvent, TargetedSubmitEvent } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Outcome, Problem } from '../api/call.ts'
import { Icon } from './icon.tsx'

export interface FieldProps {
  readonly label: string
  /** Told beneath the field, and by screen readers with it. */
  readonly hint?: ComponentChildren
  readonly isOptional?: boolean
}

/** What goes to the element as it is. */
export interface Attributes<E extends EventTarget> {
  readonly name?: string
  readonly value?: string | number
  readonly defaultValue?: string | number
  readonly placeholder?: string
  readonly maxLength?: number
  readonly autofocus?: boolean
  readonly disabled?: boolean
  readonly onInput?: (event: TargetedEvent<E>) => void
}

interface InputProps extends FieldProps, Attributes<HTMLInputElement> {
  readonly type?:
    | 'text'
    | 'password'
    | 'number'
    | 'datetime-local'
    | 'date'
    | 'search'
    | 'url'
    | 'email'
    | 'file'
  readonly min?: string
  readonly max?: string
  readonly step?: string
  readonly pattern?: string
  readonly accept?: string
  /** Several files. */
  readonly multiple?: boolean
  /** Stands before what is typed. */
  readonly unit?: string
}

/** A field for one line; everything else goes to the `<input>`. */
export function Field({
  label,
  hint,
  isOptional = false,
  unit,
  type = 'text',
  placeholder,
  ...input
}: InputProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <span class={unit === undefined ? 'input' : 'input with-unit'}>
        {unit !== undefined && <span class="unit">{unit}</span>}
        <input
          id={id}
          required={!isOptional}
          placeholder={placeholder ?? (isOptional ? 'optional' : undefined)}
          aria-describedby={describes(id, hint)}
          autocomplete="off"
          spellcheck={false}
          // The types tell kinds of fields apart by the roles that each may have; none is given here.
          type={type as 'text'}
          {...input}
        />
      </span>
    </Labelled>
  )
}

interface LabelledProps extends Omit<FieldProps, 'isOptional'> {
  readonly id: string
  readonly children: ComponentChildren
}

export function Labelled({ id, label, hint, children }: LabelledProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  )
}

export function describes(id: string, hint: ComponentChildren): string | undefined {
  return hint === undefined ? undefined : `${id}-hint`
}

interface FormProps<T> {
  /** On the button that sends it. */
  readonly submit: string
  /** Does what the form is for, with its fields by name. */
  readonly send: (fields: FormData) => Promise<Outcome<T>>
  /** Told of what came of it. */
  readonly done: (answer: T) => void
  readonly cancel?: () => void
  readonly isDangerous?: boolean
  /** Something is left to be chosen. */
  readonly isDisabled?: boolean
  readonly children?: ComponentChildren
}

/** Sends once at a time, and shows why it failed beside the button. */
export function Form<T>({
  submit,
  send,
  done,
  cancel,
  isDangerous = false,
  isDisabled = false,
  children,
}: FormProps<T>) {
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isSending, setSending] = useState(false)
  const onSubmit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    if (isSending) return
    setSending(true)
    const outcome = await send(new FormData(event.currentTarget))
    setSending(false)
    setProblem(outcome.ok ? null : outcome.problem)
    if (outcome.ok) done(outcome.data)
  }
  return (
    <form class="form" onSubmit={(event) => void onSubmit(event)}>
      {children}
      {problem !== null && (
        <p class="form-problem" role="alert">
          <Icon name="bad" /> {problem.message}
        </p>
      )}
      <div class="form-actions">
        {cancel && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        <button
          type="submit"
          class={isDangerous ? 'danger' : 'primary'}
          disabled={isDisabled}
          aria-disabled={isSending}
        >
          {submit}
        </button>
      </div>
    </form>
  )
}

/** A text of a form, without blanks around it. */
export function textIn(fields: FormData, name: string): string {
  const value = fields.get(name)
  return typeof value === 'string' ? value.trim() : ''
}
