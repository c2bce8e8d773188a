import type { DescMessage } from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { isComposite, valueTypeOf } from './draft.ts'
import { CommentContext, typeText } from './draft-form.tsx'
import { firstParagraph } from './method-facts.ts'
import { Prose } from './prose.tsx'

/** The fields of a type with their comments. Types of fields open when somebody asks for them. */
export function TypeView({ type }: { type: DescMessage }): VNode {
  const comment = useContext(CommentContext)
  if (type.fields.length === 0) return <p>The message has no fields.</p>
  return (
    <dl>
      {type.fields.map((field) => {
        const inner = valueTypeOf(field)
        return [
          <dt key={`${field.name} name`}>
            <code>{field.name}</code> {typeText(field)}
          </dt>,
          <dd key={field.name}>
            <Prose text={firstParagraph(comment(`${type.typeName}.${field.name}`))} />
            {typeof inner === 'object' && inner.kind === 'enum' && (
              <> One of {inner.values.map(({ name }) => name).join(', ')}.</>
            )}
            {isComposite(inner) && <Closed title={`Fields of ${typeText(field)}`} type={inner} />}
          </dd>,
        ]
      })}
    </dl>
  )
}

/** The fields of a type, which may contain itself, so that they are made when they are opened. */
export function Closed({ title, type }: { title: string; type: DescMessage }): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <TypeView type={type} />}
    </details>
  )
}
