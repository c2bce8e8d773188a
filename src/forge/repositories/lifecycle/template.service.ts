import type { ServiceImpl } from '@connectrpc/connect'
import { TemplateService } from '#gen/branchline/v1/template_service_pb.ts'
import type { App } from '../../app.ts'
import { defineService } from '../../core/wire/define-service.ts'
import {
  gitignoreNames,
  gitignoreText,
  labelSet,
  labelSetNames,
  licenseNames,
  licenseText,
} from './templates.ts'

const IMPLEMENTATION =
  'Create a text file (typically named LICENSE or LICENSE.txt) in the root of your source code and copy the text of the license into the file'

/** Implements TemplateService. */
function templateService(app: App): ServiceImpl<typeof TemplateService> {
  const entry = (name: string) => ({
    key: name,
    name,
    url: `${app.publicUrl()}/api/v1/licenses/${encodeURIComponent(name)}`,
  })
  return {
    listGitignoreTemplates: () => ({ names: [...gitignoreNames()] }),

    getGitignoreTemplate: ({ name }) => ({ name, source: gitignoreText(name) }),

    async listLicenseTemplates() {
      return { licenses: (await licenseNames()).map(entry) }
    },

    async getLicenseTemplate({ name }) {
      const body = await licenseText(name)
      return { ...entry(name), implementation: IMPLEMENTATION, body }
    },

    listLabelTemplates: () => ({ names: [...labelSetNames()] }),

    getLabelTemplate: ({ name }) => ({ labels: [...labelSet(name)] }),
  }
}

export const templates = defineService(TemplateService, templateService)
