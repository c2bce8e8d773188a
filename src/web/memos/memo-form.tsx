import type { VNode } from 'preact'
import { type Memo, Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { fieldOf } from '../components/field.tsx'
import { TextArea } from '../components/text-area.tsx'

/** Description of each visibility of a memo. */
export const VISIBILITIES: readonly (readonly [Visibility, string])[] = [
  [Visibility.PRIVATE, 'only you'],
  [Visibility.PROTECTED, 'all users'],
  [Visibility.PUBLIC, 'everybody'],
]

/** The editor of a new memo. */
export function NewMemo({ onSaved }: { onSaved: () => void }): VNode {
  const { of } = useApi()
  const create = async (form: HTMLFormElement) => {
    await of(MemoService).createMemo({ memo: fieldsOf(form) })
    onSaved()
  }
  return (
    <ActionForm act={create} submit="Save the memo" done="The memo is saved." isEmptied>
      <MemoFields label="New memo" />
    </ActionForm>
  )
}

/** The editor of a memo that is there. */
export function EditMemo({ memo, onSaved }: { memo: Memo; onSaved: () => void }): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    await of(MemoService).updateMemo({
      memo: { name: memo.name, ...fieldsOf(form) },
      updateMask: { paths: ['content', 'visibility'] },
    })
    onSaved()
  }
  return (
    <ActionForm act={save} submit="Save the changes">
      <MemoFields label="Text" memo={memo} />
    </ActionForm>
  )
}

function fieldsOf(form: HTMLFormElement): { content: string; visibility: Visibility } {
  return { content: fieldOf(form, 'content'), visibility: Number(fieldOf(form, 'visibility')) }
}

function MemoFields({ label, memo }: { label: string; memo?: Memo }): VNode {
  return (
    <>
      <TextArea
        label={label}
        name="content"
        rows={6}
        required
        defaultValue={memo?.content}
        hint="Markdown. #word is a tag, and @name mentions somebody."
      />
      <label>
        Who sees it
        <select name="visibility">
          {VISIBILITIES.map(([value, text]) => (
            <option key={value} value={value} selected={value === memo?.visibility}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </>
  )
}
