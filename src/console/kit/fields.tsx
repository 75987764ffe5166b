/** Fields beyond those of one line, and what they and days and numbers say. Only screens have them. */
import type { TargetedEvent } from 'preact'
import { useId } from 'preact/hooks'
import { type Attributes, describes, type FieldProps, Labelled, textIn } from './form.tsx'

interface TextAreaProps extends FieldProps, Attributes<HTMLTextAreaElement> {
  readonly rows?: number
}

export function TextArea({ label, hint, isOptional = false, ...input }: TextAreaProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <textarea
        id={id}
        required={!isOptional}
        aria-describedby={describes(id, hint)}
        spellcheck={false}
        {...input}
      />
    </Labelled>
  )
}

interface SelectProps
  extends Omit<FieldProps, 'isOptional'>,
    Pick<Attributes<HTMLSelectElement>, 'name' | 'disabled' | 'autofocus'> {
  readonly value?: string
  readonly options: readonly (readonly [value: string, title: string])[]
  readonly onChange?: (event: TargetedEvent<HTMLSelectElement>) => void
}

export function Select({ label, hint, options, value, ...select }: SelectProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <select id={id} aria-describedby={describes(id, hint)} {...select}>
        {options.map(([each, title]) => (
          <option key={each} value={each} selected={each === value}>
            {title}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

interface CheckProps {
  readonly label: string
  readonly hint?: string
  readonly name?: string
  readonly checked?: boolean
  readonly defaultChecked?: boolean
  readonly onChange?: (event: TargetedEvent<HTMLInputElement>) => void
}

export function Check({ label, hint, ...input }: CheckProps) {
  const id = useId()
  return (
    <div class="check">
      <input id={id} type="checkbox" aria-describedby={describes(id, hint)} {...input} />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  )
}

/** The end of a day of a form, which is that of here and still counts; null where the field is empty. */
export function dayEndIn(fields: FormData, name: string): string | null {
  const day = textIn(fields, name)
  return day === '' ? null : new Date(`${day}T23:59:59`).toISOString()
}

/** A number of a form; null where the field is empty. */
export function numberIn(fields: FormData, name: string): number | null {
  const text = textIn(fields, name)
  return text === '' ? null : Number(text)
}
