import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'
import { contentChangeMethods } from './content-changes.ts'
import { contentMethods } from './contents.ts'

export const content = defineService(ContentService, (app) => ({
  ...contentMethods(app),
  ...contentChangeMethods(app),
}))
