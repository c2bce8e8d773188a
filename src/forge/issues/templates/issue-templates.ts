import type { Caller } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type Answers, textOfAnswers } from './form-answers.ts'
import { DEFAULT_CONFIG, type IssueConfig } from './issue-config.ts'
import {
  type IssueTemplate,
  listTemplateFiles,
  openTemplates,
  readIssueConfig,
  readPullTemplate,
  readSingleTemplate,
  type TemplateFile,
  type TemplatePlace,
} from './template-files.ts'

/**
 * Returns the templates of issues, and the number of files that are none.
 *
 * @throws as `openTemplates`; SERVER_BUSY
 */
export async function listIssueTemplates(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<{ readonly templates: readonly IssueTemplate[]; readonly faulty: number }> {
  const files = await listTemplateFiles(await openTemplates(app, caller, name))
  const templates = files.flatMap(({ template }) => ('value' in template ? template.value : []))
  return { templates, faulty: files.length - templates.length }
}

/**
 * Returns the configuration for new issues, and what is wrong with its file. A faulty file counts
 * for nothing.
 *
 * @throws as `openTemplates`; SERVER_BUSY
 */
export async function getIssueConfig(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<{ readonly config: IssueConfig; readonly fault: string }> {
  const parsed = await readIssueConfig(await openTemplates(app, caller, name))
  return 'fault' in parsed
    ? { config: DEFAULT_CONFIG, fault: parsed.fault }
    : { config: parsed.value, fault: '' }
}

/**
 * Returns the text that a new pull request starts with; empty without a template.
 *
 * @throws as `openTemplates`; SERVER_BUSY
 */
export async function getPullTemplate(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<string> {
  const file = await readPullTemplate(await openTemplates(app, caller, name))
  return file && 'value' in file.template ? file.template.value.content : ''
}

/** A template as a client has filled it in. */
export interface FilledTemplate {
  readonly title: string
  readonly body: string
  /** Names. */
  readonly labels: readonly string[]
  /** Usernames. */
  readonly assignees: readonly string[]
  readonly ref: string
  /** Whether the body consists of answers. */
  readonly isForm: boolean
}

/**
 * Fills in a template.
 *
 * @param file path or name of the file. Empty for the template that stands alone, which a repository
 *   need not have.
 * @throws as `openTemplates`; SERVER_BUSY; INVALID_FIELD if there is no such template or its file is
 *   faulty; ISSUE_FORM_INCOMPLETE
 */
export async function fillTemplate(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { file, answers }: { readonly file: string; readonly answers: Answers },
): Promise<FilledTemplate> {
  const place = await openTemplates(app, caller, name)
  const found = file === '' ? await readSingleTemplate(place) : await findTemplate(place, file)
  if (!found && file === '')
    return { title: '', body: '', labels: [], assignees: [], ref: '', isForm: false }
  if (!found) throw faulty('is not a template of the repository')
  if ('fault' in found.template) throw faulty(found.template.fault)
  const { title, labels, assignees, ref, content, fields } = found.template.value
  const isForm = fields.length > 0
  // A template without fields has no answers.
  const text = textOfAnswers(fields, answers)
  return { title, body: isForm ? text : content, labels, assignees, ref, isForm }
}

async function findTemplate(place: TemplatePlace, name: string): Promise<TemplateFile | undefined> {
  const files = await listTemplateFiles(place)
  return (
    files.find(({ path }) => path === name) ??
    files.find(({ path }) => path.slice(path.lastIndexOf('/') + 1) === name)
  )
}

function faulty(rule: string): DomainError {
  return new DomainError('INVALID_FIELD', { field: 'template', rule: metadataText(rule) })
}
