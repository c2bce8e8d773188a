import type { ServiceImpl } from '@connectrpc/connect'
import { LanguageService } from '#gen/branchline/v1/language_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { getRepositoryLanguages } from './languages.ts'

/** Implements LanguageService. */
function languageService(app: App): ServiceImpl<typeof LanguageService> {
  return {
    async getRepositoryLanguages({ owner, repo }, context) {
      const found = await getRepositoryLanguages(app, callerOf(context), { owner, repo })
      const sizes = [...found].map(([language, bytes]) => [language, BigInt(bytes)])
      return { languages: Object.fromEntries(sizes) }
    },
  }
}

export const languages = defineService(LanguageService, languageService)
