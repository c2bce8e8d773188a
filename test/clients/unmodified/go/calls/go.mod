module branchline.example/calls

go 1.23
