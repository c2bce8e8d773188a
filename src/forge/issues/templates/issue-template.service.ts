import type { JsonObject } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { IssueTemplateService } from '#gen/branchline/v1/issue_template_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import type { FormField } from './issue-forms.ts'
import {
  fillTemplate,
  getIssueConfig,
  getPullTemplate,
  listIssueTemplates,
} from './issue-templates.ts'
import type { IssueTemplate } from './template-files.ts'

/** Implements IssueTemplateService. */
function issueTemplateService(app: App): ServiceImpl<typeof IssueTemplateService> {
  return {
    async listIssueTemplates(name, context) {
      const { templates, faulty } = await listIssueTemplates(app, callerOf(context), name)
      const warning =
        faulty === 0 ? '' : `error occurs when parsing issue template: count=${faulty}`
      return { templates: templates.map(templateMessage), warning }
    },

    async getIssueConfig(name, context) {
      const { config } = await getIssueConfig(app, callerOf(context), name)
      return { ...config, contactLinks: [...config.contactLinks] }
    },

    async validateIssueConfig(name, context) {
      const { fault } = await getIssueConfig(app, callerOf(context), name)
      return { valid: fault === '', message: fault }
    },

    async getPullRequestTemplate(name, context) {
      const text = await getPullTemplate(app, callerOf(context), name)
      // Those who can push supply the text.
      context.responseHeader.set('x-content-type-options', 'nosniff')
      return { contentType: 'text/plain; charset=utf-8', data: Buffer.from(text) }
    },

    async renderIssueTemplate({ owner, repo, template, fields = {} }, context) {
      const filled = { file: template, answers: fields }
      const issue = await fillTemplate(app, callerOf(context), { owner, repo }, filled)
      const { title, body, labels, assignees } = issue
      return { title, body, labels: [...labels], assignees: [...assignees] }
    },
  }
}

function templateMessage({ path, fields, labels, assignees, ...template }: IssueTemplate) {
  return {
    ...template,
    labels: [...labels],
    assignees: [...assignees],
    fileName: path,
    body: fields.map(fieldMessage),
  }
}

function fieldMessage({ type, id, attributes, validations, visible }: FormField) {
  return {
    type,
    id,
    attributes: objectOf(attributes),
    validations: objectOf(validations),
    visible: [...visible],
  }
}

/** Returns the JSON form of a value that consists of nothing else. */
function objectOf(value: FormField['attributes'] | FormField['validations']): JsonObject {
  return { ...value } as JsonObject
}

export const issueTemplates = defineService(IssueTemplateService, issueTemplateService)
