import type { JsonObject } from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import {
  type IssueConfig,
  type IssueFormField,
  type IssueTemplate,
  IssueTemplateService,
} from '#gen/branchline/v1/issue_template_service_pb.ts'
import { markupBase, repositoryHref } from '../addresses.ts'
import type { Api } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { Field, fieldOf, TextArea } from '../components/forms.tsx'
import { Markup } from '../components/markup.tsx'
import { t } from '../language/texts.tsx'

type RepositoryName = { readonly owner: string; readonly repo: string }

/** What a repository offers to those who want to open an issue. */
export interface Offers {
  readonly templates: readonly IssueTemplate[]
  readonly links: IssueConfig['contactLinks']
  readonly isBlankOffered: boolean
}

const NO_OFFERS: Offers = { templates: [], links: [], isBlankOffered: true }

/** Loads the templates of a repository. Who may not read its files has none. */
export async function loadOffers(
  of: Api['of'],
  { owner, repo }: RepositoryName,
  signal: AbortSignal,
): Promise<Offers> {
  const service = of(IssueTemplateService)
  try {
    const { templates } = await service.listIssueTemplates({ owner, repo }, { signal })
    const config = await service.getIssueConfig({ owner, repo }, { signal })
    return { templates, links: config.contactLinks, isBlankOffered: config.blankIssuesEnabled }
  } catch (error) {
    if (failureOf(error).reason !== 'REPOSITORY_UNIT_CLOSED') throw error
    return NO_OFFERS
  }
}

/** The choice of a template. */
export function TemplateChoice({ name, offers }: { name: RepositoryName; offers: Offers }): VNode {
  const href = (template: string) =>
    `${repositoryHref(name)}/issues/new?${new URLSearchParams({ template })}`
  return (
    <ul class="list">
      {offers.templates.map((template) => (
        <li key={template.fileName}>
          <a href={href(template.fileName)}>{template.name}</a>
          <p class="facts">{template.about}</p>
        </li>
      ))}
      {offers.isBlankOffered && (
        <li>
          <a href={href('')}>{t('Blank issue')}</a>
          <p class="facts">{t('An issue without a template.')}</p>
        </li>
      )}
      {offers.links.map((link) => (
        <li key={link.url}>
          <a href={link.url} rel="nofollow noreferrer">
            {link.name}
          </a>
          <p class="facts">{link.about}</p>
        </li>
      ))}
    </ul>
  )
}

const controlOf = ({ id }: IssueFormField) => `field-${id}`

const isShown = ({ visible }: IssueFormField) => visible.includes('form')

/** The fields of a form, which `answersOf` reads. */
export function TemplateFields(props: {
  name: RepositoryName
  fields: readonly IssueFormField[]
}): VNode {
  return (
    <>
      {props.fields.filter(isShown).map((field) => (
        <TemplateField key={field.id} name={props.name} field={field} />
      ))}
    </>
  )
}

interface FieldProps {
  readonly name: RepositoryName
  readonly field: IssueFormField
}

function TemplateField({ name, field }: FieldProps): VNode {
  const { type, attributes = {}, validations = {} } = field
  const text = (key: string) => textAt(attributes, key)
  const shared = {
    label: text('label'),
    name: controlOf(field),
    required: validations.required === true,
    hint: text('description'),
    placeholder: text('placeholder'),
  }
  switch (type) {
    case 'markdown':
      return <Markup text={text('value')} base={markupBase(name)} />
    case 'textarea':
      return <TextArea {...shared} rows={6} defaultValue={text('value')} />
    case 'dropdown':
      return <Dropdown field={field} />
    case 'checkboxes':
      return <Boxes field={field} />
    default:
      return (
        <Field
          {...shared}
          defaultValue={text('value')}
          inputmode={validations.is_number === true ? 'decimal' : undefined}
          pattern={textAt(validations, 'regex') || undefined}
        />
      )
  }
}

function Dropdown({ field }: { field: IssueFormField }): VNode {
  const { attributes = {}, validations = {} } = field
  const options = itemsAt(attributes, 'options').map(String)
  const isMultiple = attributes.multiple === true
  return (
    <label>
      {textAt(attributes, 'label')}
      <select
        name={controlOf(field)}
        multiple={isMultiple}
        required={validations.required === true}
      >
        {!isMultiple && <option value="">{t('Choose…')}</option>}
        {options.map((option, position) => (
          <option key={option} value={option} selected={position === attributes.default}>
            {option}
          </option>
        ))}
      </select>
      <span class="hint">{textAt(attributes, 'description')}</span>
    </label>
  )
}

function Boxes({ field }: { field: IssueFormField }): VNode {
  const { attributes = {} } = field
  return (
    <fieldset>
      <legend>{textAt(attributes, 'label')}</legend>
      <p class="hint">{textAt(attributes, 'description')}</p>
      {itemsAt(attributes, 'options')
        .filter(isObject)
        .filter((option) => !('visible' in option) || itemsAt(option, 'visible').includes('form'))
        .map((option) => {
          const label = textAt(option, 'label')
          return (
            <label key={label} class="choice">
              <input
                type="checkbox"
                name={controlOf(field)}
                value={label}
                required={option.required === true}
              />{' '}
              {label}
            </label>
          )
        })}
    </fieldset>
  )
}

/** Returns the answers of a form that is sent. */
export function answersOf(form: HTMLFormElement, fields: readonly IssueFormField[]): JsonObject {
  const data = new FormData(form)
  const answered = fields.filter((field) => field.type !== 'markdown' && isShown(field))
  return Object.fromEntries(
    answered.map((field) => {
      const isList = field.type === 'dropdown' || field.type === 'checkboxes'
      const control = controlOf(field)
      const chosen = data.getAll(control).filter((value) => typeof value === 'string')
      return [field.id, isList ? chosen.filter((value) => value !== '') : fieldOf(form, control)]
    }),
  )
}

function textAt(source: JsonObject, key: string): string {
  const value = source[key]
  return typeof value === 'string' ? value : ''
}

function itemsAt(source: JsonObject, key: string): readonly unknown[] {
  const value = source[key]
  return Array.isArray(value) ? value : []
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
